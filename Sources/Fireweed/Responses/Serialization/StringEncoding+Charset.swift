// The encodings of charsets in `Content-Type`.

import Foundation

extension String.Encoding {
    /// The encoding with this name from the IANA's registry, in lower case; `nil` when the name is unknown.
    init?(charset: String) {
        guard let encoding = Self.byCharset[charset] else { return nil }
        self = encoding
    }

    private static let byCharset: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "us-ascii": .ascii, "ascii": .ascii, "utf-16": .utf16,
        "utf-16be": .utf16BigEndian, "utf-16le": .utf16LittleEndian, "utf-32": .utf32, "utf-32be": .utf32BigEndian,
        "utf-32le": .utf32LittleEndian,

        "iso-8859-1": .isoLatin1, "latin1": .isoLatin1, "iso_8859-1": .isoLatin1, "iso-8859-2": .isoLatin2,
        "latin2": .isoLatin2, "iso-8859-3": core(0x203), "iso-8859-4": core(0x204), "iso-8859-5": core(0x205),
        "iso-8859-6": core(0x206), "iso-8859-7": core(0x207), "iso-8859-8": core(0x208), "iso-8859-9": core(0x209),
        "iso-8859-10": core(0x20A), "iso-8859-11": core(0x20B), "iso-8859-13": core(0x20D),
        "iso-8859-14": core(0x20E), "iso-8859-15": core(0x20F), "latin9": core(0x20F), "iso-8859-16": core(0x210),

        "windows-1250": .windowsCP1250, "windows-1251": .windowsCP1251, "windows-1252": .windowsCP1252,
        "windows-1253": .windowsCP1253, "windows-1254": .windowsCP1254, "windows-1255": core(0x505),
        "windows-1256": core(0x506), "windows-1257": core(0x507), "windows-1258": core(0x508),
        "cp1250": .windowsCP1250, "cp1251": .windowsCP1251, "cp1252": .windowsCP1252, "windows-874": core(0x41D),
        "tis-620": core(0x41D), "ibm437": core(0x400), "ibm850": core(0x410), "ibm866": core(0x41B),
        "cp866": core(0x41B), "koi8-r": core(0xA02), "koi8-u": core(0xA08),
        // `String.Encoding.macOSRoman` decodes other characters on Linux.
        "macintosh": core(0),

        "shift_jis": .shiftJIS, "windows-31j": core(0x420), "euc-jp": .japaneseEUC, "iso-2022-jp": .iso2022JP,
        // The code pages contain the standards' characters, and others that servers send under these names.
        "gb2312": core(0x421), "gbk": core(0x421), "cp936": core(0x421), "gb18030": core(0x632),
        "big5": core(0xA03), "big5-hkscs": core(0xA06), "euc-kr": core(0x422), "ks_c_5601-1987": core(0x422),
        "iso-2022-kr": core(0x840),
    ]

    /// The C library's name of an encoding that Foundation does not decode in every program; `nil` for other encodings.
    var iconvName: String? { Self.iconvNames[self] }

    /// Every encoding of `byCharset` except the encodings of Unicode, ASCII and ISO-8859-1.
    private static let iconvNames: [String.Encoding: String] = [
        .isoLatin2: "ISO-8859-2", core(0x203): "ISO-8859-3", core(0x204): "ISO-8859-4", core(0x205): "ISO-8859-5",
        core(0x206): "ISO-8859-6", core(0x207): "ISO-8859-7", core(0x208): "ISO-8859-8", core(0x209): "ISO-8859-9",
        core(0x20A): "ISO-8859-10", core(0x20B): "ISO-8859-11", core(0x20D): "ISO-8859-13", core(0x20E): "ISO-8859-14",
        core(0x20F): "ISO-8859-15", core(0x210): "ISO-8859-16", .windowsCP1250: "CP1250", .windowsCP1251: "CP1251",
        .windowsCP1252: "CP1252", .windowsCP1253: "CP1253", .windowsCP1254: "CP1254", core(0x505): "CP1255",
        core(0x506): "CP1256", core(0x507): "CP1257", core(0x508): "CP1258", core(0x41D): "CP874", core(0x400): "CP437",
        core(0x410): "CP850", core(0x41B): "CP866", core(0xA02): "KOI8-R", core(0xA08): "KOI8-U", core(0): "MACINTOSH",
        .shiftJIS: "CP932", core(0x420): "CP932", .japaneseEUC: "EUC-JP", .iso2022JP: "ISO-2022-JP", core(0x421): "GBK",
        core(0x632): "GB18030", core(0xA03): "BIG5", core(0xA06): "BIG5-HKSCS", core(0x422): "UHC",
        core(0x840): "ISO-2022-KR",
    ]

    /// The encoding with a number from Core Foundation's `CFStringEncodings`, for which Foundation has no name.
    ///
    /// `NSStringEncoding` has these encodings too, with the highest of 32 bits set.
    private static func core(_ number: UInt) -> String.Encoding {
        String.Encoding(rawValue: 0x8000_0000 | number)
    }
}
