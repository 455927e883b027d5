#pragma once

// Starts both counts. A program that does not call this pays nothing for its allocations.
void fw_count_allocations(void);

// Allocations since the count started, on all threads: calls of malloc and its kin.
long fw_allocation_count(void);

// Bytes of the heap that are in use, on all threads, without Dispatch's; 0 under a sanitizer. Only differences mean something: a block
// from before the count started is subtracted when it is freed.
long fw_heap_byte_count(void);
