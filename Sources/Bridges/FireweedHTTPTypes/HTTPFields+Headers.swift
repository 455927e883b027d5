// Header fields of swift-http-types and of requests.

#if HTTPTypes
public import Fireweed
import FireweedTransport
public import HTTPTypes

extension HTTPHeaders {
    /// Makes the fields of a request, in their order and with the case of their names.
    ///
    /// Fields of one name become one field, at the place of the first: values are joined by a comma (RFC 9110 §5.3),
    /// values of `Cookie` by a semicolon (RFC 9113 §8.2.3).
    public init(_ fields: HTTPFields) {
        self.init()
        for field in fields {
            let name = field.name.rawName
            guard let earlier = value(for: name) else {
                add(name: name, value: field.text)
                continue
            }
            update(name: self.name(of: name), value: earlier + (field.name == .cookie ? "; " : ", ") + field.text)
        }
    }

    /// Returns the name of a field in the case of its first occurrence.
    private func name(of name: String) -> String {
        first { $0.name.isEqualIgnoringASCIICase(name) }?.name ?? name
    }
}

extension HTTPFields {
    /// Makes the fields of a request's headers; `nil` if a name or a value is not valid in RFC 9110.
    public init?(_ headers: HTTPHeaders) {
        self.init()
        for header in headers {
            guard let name = HTTPField.Name(header.name), HTTPField.isValidValue(header.value) else { return nil }
            append(HTTPField(name: name, value: header.value))
        }
    }

    /// Makes the fields of a response; fields whose names HTTPTypes refuses are left out.
    init(_ head: ResponseHead) {
        self.init()
        head.forEachLine { name, value in
            if let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) {
                append(HTTPField(name: name, lenientValue: value))
            }
            return true
        }
    }

    /// Makes the fields of a header or trailer section; fields whose names HTTPTypes refuses are left out.
    init(_ section: FieldBlock) {
        self.init()
        for field in section.fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            append(HTTPField(name: name, lenientValue: field.octets ?? Array(field.value.utf8)))
        }
    }
}

extension HTTPField {
    /// The value as text: UTF-8, else ISO-8859-1.
    fileprivate var text: String {
        withUnsafeBytesOfValue {
            String(validating: $0, as: UTF8.self) ?? String(decoding: $0.map(UInt16.init), as: UTF16.self)
        }
    }
}
#endif
