#pragma once

// Allocations of this process since it started, on all threads: calls of malloc and its kin.
long fw_allocation_count(void);

// Bytes of this process's heap that are in use, on all threads, without Dispatch's; 0 under a sanitizer.
long fw_heap_byte_count(void);
