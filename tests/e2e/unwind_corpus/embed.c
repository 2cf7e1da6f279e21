/* embed FILE: runs a Python file by libpython. */
#include <Python.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	int failed;

	if (!file)
		return 2;
	Py_Initialize();
	failed = PyRun_SimpleFile(file, argv[1]);
	fclose(file);
	return failed;
}
