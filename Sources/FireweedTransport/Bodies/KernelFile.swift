// Files whose content the kernel makes when they are read.

package import Glibc

/// Tells the files of /proc and /sys from files on a disk.
package enum KernelFile {
    /// Whether the reported length of a regular file may differ from that of its content.
    ///
    /// Files of /proc report a length of 0, most files of /sys that of a page, and both have no blocks. Small sparse
    /// files have no blocks either, so that only reading the file decides.
    package static func mayBe(_ status: stat) -> Bool {
        status.st_blocks == 0 && status.st_size <= 64 * 1024
    }
}
