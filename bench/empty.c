/* empty OBJECT enter|exit|both -- attaches the empty programs of empty.bpf.c, prints "ready", and
 * detaches them when its standard input ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

int main(int argc, char *argv[])
{
	struct bpf_object  *object;
	struct bpf_program *program;
	char                byte;

	if (argc != 3 ||
	    (strcmp(argv[2], "enter") && strcmp(argv[2], "exit") && strcmp(argv[2], "both")))
		return 2;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		return 1;
	bpf_object__for_each_program(program, object)
	{
		int is_enter = !strcmp(bpf_program__name(program), "enter");

		if (strcmp(argv[2], "both") && is_enter != !strcmp(argv[2], "enter"))
			bpf_program__set_autoload(program, false);
	}
	if (bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object) if (bpf_program__autoload(program) &&
	                                                  !bpf_program__attach(program)) return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
