// Files whose content the kernel generates at each read.

package import Glibc

/// Distinguishes the files of /proc and /sys from files on a disk.
package enum KernelFile {
    /// Whether the reported length of a regular file may differ from the length of its content.
    ///
    /// Files of /proc report a length of 0, most files of /sys the length of a page; both have no blocks. Small sparse
    /// files have no blocks either, so if the result is true, only reading the file can tell.
    package static func mayBe(_ status: stat) -> Bool {
        status.st_blocks == 0 && status.st_size <= 64 * 1024
    }
}
