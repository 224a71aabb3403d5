/* What a library of kernels has beside them.
 *
 * Whether it runs here: kernels are compiled for processors with these instructions.
 *
 * And what kernels call of Numba's runtime where they make arrays for themselves, and let go of them. The rest of it is
 * compiled into them: they count references in the first field, and read the fourth.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int runs_here(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
#else
    return 1;
#endif
}

struct room {
    size_t references;
    void *unused[2];
    void *data;
    size_t size;
    void *allocator;
};

struct room *NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment)
{
    size_t beside = sizeof(struct room) + alignment;
    struct room *made = size > SIZE_MAX - beside ? NULL : malloc(beside + size);
    if (made != NULL) {
        uintptr_t first = (uintptr_t)(made + 1);
        made->references = 1;
        made->data = (void *)((first + alignment - 1) / alignment * alignment);
        made->size = size;
    }
    return made;
}

void NRT_MemInfo_call_dtor(struct room *made)
{
    free(made);
}
