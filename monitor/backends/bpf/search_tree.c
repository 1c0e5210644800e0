/* search_tree.c -- two functions that the static libelf of elfutils 0.192 (Debian 13) calls and
 * does not have: they are in its libeu.a, which is rarely installed.
 *
 * They begin and end the tree of a file's raw chunks. libbpf asks for no raw chunk, so the tree
 * stays as elf_begin allocates it: all zeros, which is an empty one. Meson adds this file only
 * where the link fails without it.
 */
void eu_search_tree_init(void *tree, int (*compare)(const void *, const void *));
void eu_search_tree_fini(void *tree, void (*free_node)(void *));

void eu_search_tree_init(void *tree, int (*compare)(const void *, const void *))
{
	(void)tree;
	(void)compare;
}

void eu_search_tree_fini(void *tree, void (*free_node)(void *))
{
	(void)tree;
	(void)free_node;
}
