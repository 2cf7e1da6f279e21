/* Calls the function in rules.S. */
int rules(void);
int rule_none(void);

int main(void)
{
	rules();
	rule_none();
	return 0;
}
