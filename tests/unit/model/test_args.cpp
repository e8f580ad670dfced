// Signatures: shared argument lists.

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/args.hpp>

using namespace tracelens;

namespace {

Arg arg(StringPool& strings, const std::string& key, const std::string& value) {
    return {strings.intern(key), strings.intern(value)};
}

std::vector<Arg> copy_of(const ArgsTable& table, ArgsId id) {
    return {table[id].begin(), table[id].end()};
}

}  // namespace

TEST_CASE("the empty signature is id 0 in every table") {
    ArgsTable table;
    CHECK(table.size() == 1);
    CHECK(table.intern({}) == ArgsId::empty);
    CHECK(table.size() == 1);
    CHECK(table[ArgsId::empty].empty());
}

TEST_CASE("equal lists are one signature") {
    StringPool strings;
    ArgsTable table;
    const std::vector<Arg> dims = {arg(strings, "Input Dims", "[[2,3]]"),
                                   arg(strings, "Input type", "[\"float\"]")};
    const ArgsId first = table.intern(dims);
    CHECK(first != ArgsId::empty);
    CHECK(table.intern(std::vector<Arg>(dims)) == first);
    CHECK(table.size() == 2);
    CHECK(copy_of(table, first) == dims);
}

TEST_CASE("order, length, key and value tell signatures apart") {
    StringPool strings;
    ArgsTable table;
    const Arg a = arg(strings, "a", "1");
    const Arg b = arg(strings, "b", "1");
    const Arg swapped = arg(strings, "1", "a");
    const std::vector<std::vector<Arg>> lists = {{a}, {b}, {swapped}, {a, b}, {b, a}, {a, a}, {a, b, a}};
    std::vector<ArgsId> ids;
    for (const std::vector<Arg>& list : lists) ids.push_back(table.intern(list));
    CHECK(table.size() == lists.size() + 1);
    for (std::size_t i = 0; i < lists.size(); ++i) {
        CHECK(to_index(ids[i]) == i + 1);
        CHECK(copy_of(table, ids[i]) == lists[i]);
        CHECK(table.intern(lists[i]) == ids[i]);
    }
}

TEST_CASE("signatures stay as they are while the table grows") {
    StringPool strings;
    ArgsTable table;
    std::vector<ArgsId> ids;
    const auto list = [&](int i) {
        std::vector<Arg> args;
        for (int j = 0; j <= i % 5; ++j)
            args.push_back(arg(strings, "key" + std::to_string(j), std::to_string(i)));
        return args;
    };
    for (int i = 0; i < 5000; ++i) ids.push_back(table.intern(list(i)));
    CHECK(table.size() == 5001);
    for (int i = 0; i < 5000; ++i) {
        CAPTURE(i);
        CHECK(table.intern(list(i)) == ids[static_cast<std::size_t>(i)]);
        CHECK(copy_of(table, ids[static_cast<std::size_t>(i)]) == list(i));
    }
    CHECK(table.size() == 5001);
}

TEST_CASE("find_arg gives the JSON text of the first argument of that key") {
    StringPool strings;
    ArgsTable table;
    const std::vector<Arg> args = {arg(strings, "dtype", "\"BFloat16\""), arg(strings, "Group size", "8"),
                                   arg(strings, "empty", "")};
    const ArgsId id = table.intern(args);
    CHECK(find_arg(table, strings, id, "dtype") == "\"BFloat16\"");
    CHECK(find_arg(table, strings, id, "Group size") == "8");
    CHECK(find_arg(table, strings, id, "empty") == "");
    CHECK_FALSE(find_arg(table, strings, id, "Dtype").has_value());
    CHECK_FALSE(find_arg(table, strings, id, "Group").has_value());
    CHECK_FALSE(find_arg(table, strings, ArgsId::empty, "dtype").has_value());
}
