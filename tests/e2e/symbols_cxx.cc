// Much code of many kinds in one program, for test_symbols_addr2line: templates, lambdas, virtual functions, exceptions, inlines
// many levels deep. It is compiled, not run.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shapes
{
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

template <int Sides> struct regular : shape {
	double side;
	explicit regular(double s) : side(s)
	{
	}
	double area() const override
	{
		return side * side * Sides / 4;
	}
};

struct registry {
	std::map<std::string, std::function<std::unique_ptr<shape>(double)>> makers;

	template <int... Sides> void add(std::integer_sequence<int, Sides...>)
	{
		(makers.emplace("sides" + std::to_string(Sides),
				[](double side) -> std::unique_ptr<shape> { return std::make_unique<regular<Sides>>(side); }),
		 ...);
	}
};
} // namespace shapes

namespace
{
using value = std::variant<long, double, std::string, std::vector<int>>;

struct printer {
	std::ostream &out;
	void operator()(long n) const
	{
		out << n;
	}
	void operator()(double d) const
	{
		out << d;
	}
	void operator()(const std::string &text) const
	{
		out << '"' << text << '"';
	}
	void operator()(const std::vector<int> &list) const
	{
		for (int entry : list)
			out << entry << ' ';
	}
};

std::vector<std::string> words_of(const std::string &text)
{
	static const std::regex word("([[:alpha:]_][[:alnum:]_]*)|([0-9]+(\\.[0-9]+)?)|\"[^\"]*\"", std::regex::ECMAScript);
	std::vector<std::string> found;
	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		found.push_back(i->str());
	return found;
}

value parse(const std::string &word)
{
	if (word.empty())
		throw std::invalid_argument("an empty word");
	if (word.find('.') != std::string::npos)
		return std::stod(word);
	if (std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; }))
		return std::stol(word);
	if (word.front() == '[')
		return std::vector<int>(word.size(), 1);
	return word;
}

template <typename Map> auto heaviest(const Map &counts)
{
	std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> order(counts.begin(), counts.end());
	std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
	return order;
}

template <typename Number> Number spread(std::vector<Number> numbers)
{
	std::sort(numbers.begin(), numbers.end());
	std::nth_element(numbers.begin(), numbers.begin() + numbers.size() / 2, numbers.end(), std::greater<Number>());
	std::set<Number> unique(numbers.begin(), numbers.end());
	return std::accumulate(unique.begin(), unique.end(), Number(), [](Number sum, Number n) { return sum * 3 + n; });
}
} // namespace

int main(int argc, char **argv)
{
	std::unordered_map<std::string, int> counts;
	std::map<int, double> areas;
	std::ostringstream text;
	shapes::registry registry;

	registry.add(std::integer_sequence<int, 3, 4, 5, 6, 7, 8>());
	for (int i = 0; i < argc; i++) {
		try {
			for (const std::string &word : words_of(argv[i])) {
				counts[word]++;
				std::visit(printer{ text }, parse(word));
			}
		} catch (const std::exception &error) {
			text << error.what();
		}
		for (const auto &[name, make] : registry.makers)
			areas[i] += make(i)->area();
	}
	for (const auto &[word, count] : heaviest(counts))
		text << word << count;
	for (const auto &[at, area] : heaviest(areas))
		text << at << area;
	std::cout << text.str() << spread(std::vector<int>{ 3, 1, argc }) << spread(std::vector<double>{ 2.5, 1.0 * argc });
	return 0;
}
