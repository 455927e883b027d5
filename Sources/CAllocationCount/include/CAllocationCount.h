#pragma once

// Allocations of this process since it started, on all threads: calls of malloc, calloc and realloc.
long fw_allocation_count(void);
