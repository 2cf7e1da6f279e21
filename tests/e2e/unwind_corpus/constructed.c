/* A library with code that runs when it is loaded or unloaded, and in a thread that it starts. */
static volatile int sink;

__attribute__((noinline)) static int here(int n)
{
	sink += n;
	return sink;
}

__attribute__((constructor)) static void loaded(void)
{
	here(1);
}

__attribute__((destructor)) static void unloaded(void)
{
	here(2);
}
