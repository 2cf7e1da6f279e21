/* A library that does something when it is loaded and unloaded, and when a thread of its own begins. */
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
