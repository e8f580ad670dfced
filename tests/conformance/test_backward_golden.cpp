// Forward and backward ops are tied as the reference ties them, and as the recorded flows say (spec 01,
// section 11).
#include <tracelens/model/backward_links.hpp>
#include <tracelens/read/open.hpp>

#include "corpus.hpp"

using namespace tracelens;

TEST_CASE("backward links: the reference's rule and the recorded flows agree on the training traces") {
    if (!corpus::present()) return;
    struct Known {
        const char* name;
        std::size_t links;
    };
    for (const Known& known :
         {Known{"mi300_resnet_ckpt", 213}, Known{"norm_layers", 51}, Known{"mi300_bert", 0}}) {
        CAPTURE(known.name);
        const Result<Trace> trace =
            try_read_trace((corpus::folder() / known.name / "trace.json.gz").string());
        REQUIRE(trace.ok());
        const BackwardLinks by_number = link_backward(*trace, BackwardRule::reference);
        const BackwardLinks by_flow = link_backward(*trace);
        CHECK(by_number.size() == known.links);
        CHECK(by_flow.size() == known.links);
        for (EventId event = 0; event < trace->size(); ++event) {
            CHECK(by_number.forward_of(event) == by_flow.forward_of(event));
        }
    }
}
