/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions drop_frames hides. pprof's RE2 and POSIX take this expression alike. */
#include "tests/unit/tap.h"

#include "proto/drop_frames.h"

#include <regex.h>

/* Names as pprof looks at them: cut at the parameters. */
static const char *const hidden[] = {
    "malloc",
    "calloc",
    "realloc",
    "__libc_memalign",
    "posix_memalign",
    "operator new",
    "operator new[]",
    "operator delete",
    "_Znwm",
    "_ZnamRKSt9nothrow_t",
    "__gnu_cxx::new_allocator<int>::allocate",
    "std::__new_allocator<std::pair<int const, std::vector<int> > >::allocate",
    "std::__new_allocator::allocate",
    "std::allocator<char>::allocate",
    "std::allocator_traits<std::allocator<std::vector<int, std::allocator<int> > > >::allocate",
    "std::allocator_traits<std::allocator<int>>::allocate",
    "std::allocator_traits::allocate",
    "std::_Vector_base<int, std::allocator<int> >::_M_allocate",
    "std::_Vector_base<A<int>, std::allocator<A<B<C<int> >, D<E> > > >::_M_allocate",
    "std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>, std::allocator<int> >::_M_get_node",
    "std::__cxx11::_List_base<int, std::allocator<int> >::_M_get_node",
    "std::__1::allocator<int>::allocate",
    "void* std::__1::__libcpp_operator_new<unsigned long>",
    "__rust_alloc",
    "alloc::alloc::exchange_malloc",
    "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
    "alloc::alloc::Global::alloc_impl",
    "<alloc::alloc::Global>::alloc_impl_runtime",
    "alloc::raw_vec::RawVec<T,A>::grow_amortized",
    "alloc::raw_vec::finish_grow",
    "<alloc::raw_vec::RawVecInner>::finish_grow",
    "<alloc::raw_vec::RawVecInner<_>>::reserve::do_reserve_and_handle::<alloc::alloc::Global>",
    "alloc::boxed::Box<T,A>::try_new_uninit_in",
    "<alloc::boxed::Box<alloc::collections::btree::node::LeafNode<usize, usize>>>::new_uninit_in",
    "hashbrown::raw::alloc::inner::do_alloc::<alloc::alloc::Global>",
    "hashbrown::raw::RawTableInner::prepare_resize",
    "<hashbrown::raw::RawTableInner>::fallible_with_capacity::<alloc::alloc::Global>",
    "<hashbrown::raw::RawTable<(usize, usize)>>::with_capacity",
};

static const char *const shown[] = {
    "main",
    "xmalloc",
    "malloc_and_fill",
    "my::malloc",
    "Pool::operator new",
    "MyAllocator<int>::allocate",
    "std::allocator_traits<MyAllocator<int> >::allocate",
    "std::allocator_traits<std::allocator<int> >::construct<int, int const&>",
    "std::vector<int, std::allocator<int> >::_M_realloc_insert",
    "std::vector<int, std::allocator<int> >::push_back",
    "std::_Vector_base<int, MyAllocator<int> >::_M_allocate",
    "std::_Vector_base<std::vector<int, std::allocator<int> >, MyAllocator<int> >::_M_allocate",
    "std::_Vector_base<int, MyAllocator<int, std::allocator<int> > >::_M_allocate",
    "std::vector<int, std::allocator<int> >::_M_allocate_and_copy<int*>",
    "std::pmr::polymorphic_allocator<int>::allocate",
    "alloc::vec::Vec<T>::push",
    "alloc::boxed::Box<T>::new",
    "hashbrown::raw::RawTable<T,A>::reserve_rehash",
    "<hashbrown::raw::RawTableInner>::resize_inner::<alloc::alloc::Global>",
    "<std::collections::HashMap<u8, u8>>::insert",
    "[cprof: memory limit]",
    "[truncated]",
    "",
};

int main(void) {
    regex_t regex;
    if (!ok(regcomp(&regex, "^(" DROP_FRAMES ")$", REG_EXTENDED | REG_NOSUB) == 0, "the expression is one"))
        return tap_done();
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        ok(regexec(&regex, hidden[i], 0, NULL, 0) == 0, "hides %s", hidden[i]);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        ok(regexec(&regex, shown[i], 0, NULL, 0) != 0, "shows '%s'", shown[i]);
    regfree(&regex);
    return tap_done();
}
