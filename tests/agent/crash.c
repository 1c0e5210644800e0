/* Reads from where nothing is. */
int main(void)
{
	return *(volatile int *)0;
}
