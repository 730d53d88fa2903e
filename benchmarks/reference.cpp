// The yardstick of the speed benchmarks: the same random numbers and the same domains in straightforward C++.
//
//   reference TASK SEED COUNT   ->   "CPU-seconds total steps", the total as a hexadecimal float
//
// TASK is a kind of draw (uniform, normal, integer, reseed), a domain (random rollouts), a domain with "+observe", or one with
// "+pomcp" (simulations of one search from the initial belief; the total is that of the root's mean returns).
// It must be compiled with -ffp-contract=off: a fused multiply-add would change last bits.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

using std::int64_t;
using std::uint64_t;

// --- random streams ---

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15, MIX1 = 0xBF58476D1CE4E5B9, MIX2 = 0x94D049BB133111EB;
constexpr double TAIL = 3.654152885361009;

struct Ziggurat {
    int64_t inside[256];
    double width[256], curve[257];

    Ziggurat() {
        auto height = [](double x) { return std::exp(-0.5 * x * x); };
        const double area = TAIL * height(TAIL) + std::sqrt(M_PI / 2.0) * std::erfc(TAIL / std::sqrt(2.0));
        double edges[257] = {0.0, TAIL};
        for (int i = 2; i < 256; i++) edges[i] = std::sqrt(-2.0 * std::log(area / edges[i - 1] + height(edges[i - 1])));
        const double base = area / height(TAIL), scale = 4503599627370496.0;
        inside[0] = int64_t(TAIL / base * scale), width[0] = base / scale, curve[0] = height(TAIL);
        for (int i = 1; i < 256; i++)
            inside[i] = int64_t(edges[i + 1] / edges[i] * scale), width[i] = edges[i] / scale, curve[i] = height(edges[i]);
        curve[256] = 1.0;
    }
};

static const Ziggurat ziggurat;

static inline uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * MIX1;
    x = (x ^ (x >> 27)) * MIX2;
    return x ^ (x >> 31);
}

static inline uint64_t absorb(uint64_t h, uint64_t key) { return mix64((h + GOLDEN) ^ mix64(key ^ MIX2)); }

struct Rng {  // SplitMix64
    uint64_t word;

    Rng(uint64_t seed, uint64_t key) : word(absorb(absorb(0, seed), key)) {}

    void reseed(uint64_t seed, uint64_t i, uint64_t j) { word = absorb(absorb(absorb(0, seed), i), j); }

    uint64_t next() { return mix64(word += GOLDEN); }

    double uniform() { return double(int64_t(next() >> 11)) * 1.1102230246251565e-16; }

    int64_t integer(int64_t n) {
        uint64_t product = (next() >> 32) * n;
        if (uint32_t(product) < n) {
            const uint64_t threshold = (4294967296 - n) % n;
            while (uint32_t(product) < threshold) product = (next() >> 32) * n;
        }
        return product >> 32;
    }

    double normal() {
        while (true) {
            const uint64_t word = next() >> 3;
            const int layer = word & 255;
            const int64_t magnitude = word >> 9;
            double x = magnitude * ziggurat.width[layer];
            if (__builtin_expect(magnitude >= ziggurat.inside[layer], 0)) {
                if (layer == 0) {
                    double y;
                    do {
                        x = -std::log(1.0 - uniform()) / TAIL;
                        y = -std::log(1.0 - uniform());
                    } while (!(y + y > x * x));
                    x += TAIL;
                } else {
                    const double low = ziggurat.curve[layer];
                    if (low + uniform() * (ziggurat.curve[layer + 1] - low) >= std::exp(-0.5 * x * x)) continue;
                }
            }
            return word & 256 ? -x : x;
        }
    }
};

// --- domains ---

struct LightDark {
    struct State { double y; bool stopped; };

    int n_actions = 3;
    double step_size = 1.0, light = 5.0, discount = 0.9;

    State initial(Rng& rng) const { return {2.0 + 3.0 * rng.normal(), false}; }
    bool terminal(const State& s) const { return s.stopped; }
    bool legal(const State&, int) const { return true; }

    double step(State& s, int a, Rng&) const {
        if (a == 1) {
            s.stopped = true;
            return std::abs(s.y) < 1.0 ? 10.0 : -10.0;
        }
        s.y += (a - 1) * step_size;
        return 0.0;
    }

    double observe(const State& s, int, Rng& rng) const {
        return s.y + (std::abs(s.y - light) / std::sqrt(2.0) + 0.01) * rng.normal();
    }
};

// An opponent that flees over free cells, shared by Tag and LaserTag. Directions: north, east, south, west.
struct Pursuit {
    struct State { int robot, opponent; bool tagged; };
    struct Cell { int x, y; };

    static constexpr int TAG = 4;
    int n_actions = 5, n_cells;
    double discount = 0.95;
    std::vector<Cell> cells;
    std::vector<std::array<int, 5>> next;       // [cell][way]: where a move ends, the cell itself where it is blocked; the fifth stays
    std::vector<std::array<double, 5>> flight;  // [robot * n_cells + opponent][way]: cumulative probabilities of the opponent's ways

    template <class Free>
    Pursuit(std::vector<Cell> free_cells, Free is_free) : n_cells(free_cells.size()), cells(std::move(free_cells)) {
        auto index = [&](int x, int y) {
            for (int i = 0; i < n_cells; i++)
                if (cells[i].x == x && cells[i].y == y) return i;
            return -1;
        };
        constexpr int dx[] = {0, 1, 0, -1, 0}, dy[] = {1, 0, -1, 0, 0};
        for (int i = 0; i < n_cells; i++) {
            next.emplace_back();
            for (int d = 0; d < 5; d++) {
                const int x = cells[i].x + dx[d], y = cells[i].y + dy[d];
                next[i][d] = is_free(x, y) ? index(x, y) : i;
            }
        }
        for (const Cell& r : cells)
            for (int t = 0; t < n_cells; t++) {
                double sum = 0.0;
                flight.emplace_back();
                for (int d = 0; d < 4; d++) {
                    const int side = (cells[t].x - r.x) * dx[d] + (cells[t].y - r.y) * dy[d];  // above 0: this way leads away
                    if (next[t][d] != t) sum += side > 0 ? 0.4 : side == 0 ? 0.2 : 0.0;
                    flight.back()[d] = sum;
                }
                flight.back()[4] = 1.0;
            }
    }

    State initial(Rng& rng) const {
        const int pair = rng.integer(n_cells * n_cells);
        return {pair / n_cells, pair % n_cells, false};
    }
    bool terminal(const State& s) const { return s.tagged; }
    bool legal(const State&, int) const { return true; }

    double step(State& s, int a, Rng& rng) const {
        if (a == TAG && s.robot == s.opponent) {
            s.tagged = true;
            return 10.0;
        }
        const auto& upto = flight[s.robot * n_cells + s.opponent];
        const double u = rng.uniform();
        int way = 0;
        while (u >= upto[way]) way++;
        s.opponent = next[s.opponent][way];
        s.robot = next[s.robot][a];
        return a == TAG ? -10.0 : -1.0;
    }
};

struct Tag : Pursuit {
    static bool is_free(int x, int y) { return (y >= -4 && y <= -3 && x >= 0 && x < 10) || (y > -3 && y <= 0 && x >= 5 && x < 8); }

    static std::vector<Cell> floor() {
        std::vector<Cell> cells;
        for (int row = 0; row < 5; row++)
            for (int x = 0; x < 10; x++)
                if (is_free(x, -row)) cells.push_back({x, -row});
        return cells;
    }

    Tag() : Pursuit(floor(), is_free) {}

    double observe(const State& s, int, Rng&) const { return s.robot == s.opponent ? n_cells : s.robot; }
};

struct LaserTag : Pursuit {
    static constexpr int WIDTH = 11, HEIGHT = 7, GUIDE = 64;
    std::vector<std::array<int, 8>> beams;    // [robot * n_cells + opponent][beam]: the number of a range, along an axis or a diagonal
    double upto[WIDTH + HEIGHT][WIDTH] = {};  // [range][reading]: cumulative probabilities
    int first[WIDTH + HEIGHT][GUIDE];         // [range][k]: the reading of u = k / GUIDE, from where the search starts

    static bool is_free(int x, int y) {
        static constexpr int obstacles[8][2] = {{3, 1}, {6, 4}, {10, 4}, {10, 5}, {2, 6}, {6, 6}, {1, 7}, {5, 7}};
        for (auto& o : obstacles)
            if (o[0] == x && o[1] == y) return false;
        return x >= 1 && x <= 11 && y >= 1 && y <= 7;
    }

    static std::vector<Cell> floor() {
        std::vector<Cell> cells;
        for (int y = 1; y <= 7; y++)
            for (int x = 1; x <= 11; x++)
                if (is_free(x, y)) cells.push_back({x, y});
        return cells;
    }

    LaserTag() : Pursuit(floor(), is_free) {
        constexpr int ways[8][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}, {1, 1}, {1, -1}, {-1, -1}, {-1, 1}};
        for (const Cell& r : cells)
            for (const Cell& o : cells) {
                beams.emplace_back();
                for (int b = 0; b < 8; b++) {
                    int x = r.x + ways[b][0], y = r.y + ways[b][1], clear = 0;
                    for (; is_free(x, y) && !(x == o.x && y == o.y); x += ways[b][0], y += ways[b][1]) clear++;
                    beams.back()[b] = clear + (b < 4 ? 0 : WIDTH);
                }
            }
        auto beyond = [](double x) { return std::erfc(x / (2.5 * std::sqrt(2.0))); };  // P(|noise| > x)
        for (int i = 0; i < WIDTH + HEIGHT; i++) {
            const double d = i < WIDTH ? i + 1 : std::sqrt(2.0) * (i - WIDTH + 1);
            double sum = 0.0;
            for (int z = 0; z < WIDTH; z++) {
                if (z < d) sum += beyond(d - std::min(d, z + 1.0)) - (z ? beyond(d - z) : 0.0);
                upto[i][z] = z + 1 < d ? sum : 1.0;
            }
            for (int k = 0; k < GUIDE; k++) {
                int z = 0;
                while (upto[i][z] <= double(k) / GUIDE) z++;
                first[i][k] = z;
            }
        }
    }

    std::array<int, 8> readings(const State& s, Rng& rng) const {
        if (s.robot == s.opponent) return {-1, -1, -1, -1, -1, -1, -1, -1};
        std::array<int, 8> seen;
        const auto& range = beams[s.robot * n_cells + s.opponent];
        for (int b = 0; b < 8; b++) {
            const double u = rng.uniform();
            int z = first[range[b]][int(u * GUIDE)];
            while (u >= upto[range[b]][z]) z++;
            seen[b] = z;
        }
        return seen;
    }

    double observe(const State& s, int, Rng& rng) const {
        int sum = 0;
        for (int z : readings(s, rng)) sum += z;
        return sum;
    }
};

struct RockSample {
    struct State { int x, y, good; };  // `good` has a bit per rock; x == size after the exit

    static constexpr int SIZE = 11, ROCKS = 11, SAMPLE = 4;
    int n_actions = 5 + ROCKS;
    double discount = 0.95;
    std::array<std::array<int, 2>, ROCKS> rocks{{{0, 3}, {0, 7}, {1, 8}, {2, 4}, {3, 3}, {3, 8}, {4, 3}, {5, 8}, {6, 1}, {9, 3}, {9, 9}}};
    int rock_at[SIZE][SIZE];                   // -1 where there is none
    double accuracy[SIZE + 1][SIZE][ROCKS];

    RockSample() {
        for (auto& column : rock_at)
            for (int& rock : column) rock = -1;
        for (int i = 0; i < ROCKS; i++) rock_at[rocks[i][0]][rocks[i][1]] = i;
        for (int x = 0; x <= SIZE; x++)
            for (int y = 0; y < SIZE; y++)
                for (int i = 0; i < ROCKS; i++) {
                    const double dx = x - rocks[i][0], dy = y - rocks[i][1];
                    accuracy[x][y][i] = 0.5 * (1.0 + std::exp2(-std::sqrt(dx * dx + dy * dy) / 20.0));
                }
    }

    State initial(Rng& rng) const { return {0, SIZE / 2, int(rng.integer(1 << ROCKS))}; }
    bool terminal(const State& s) const { return s.x == SIZE; }
    bool legal(const State& s, int a) const { return a != SAMPLE || rock_at[s.x][s.y] >= 0; }

    double step(State& s, int a, Rng&) const {
        switch (a) {
            case 0: s.y = std::min(s.y + 1, SIZE - 1); return 0.0;
            case 1: return ++s.x == SIZE ? 10.0 : 0.0;
            case 2: s.y = std::max(s.y - 1, 0); return 0.0;
            case 3: s.x = std::max(s.x - 1, 0); return 0.0;
            case SAMPLE: {
                const int bit = 1 << rock_at[s.x][s.y];
                const double reward = s.good & bit ? 10.0 : -10.0;
                s.good &= ~bit;
                return reward;
            }
            default: return 0.0;
        }
    }

    double observe(const State& s, int a, Rng& rng) const {
        if (a <= SAMPLE) return 2;
        const int rock = a - SAMPLE - 1, worth = s.good >> rock & 1;
        return rng.uniform() < accuracy[s.x][s.y][rock] ? worth : 1 - worth;
    }
};

// --- measurements ---

struct Result { double total; int64_t steps; };

template <bool observed, class Model>
static Result rollouts(const Model& model, uint64_t seed, int64_t count) {
    Rng rng(seed, 0);
    double total = 0.0;
    int64_t steps = 0;
    for (int64_t i = 0; i < count; i++) {
        auto s = model.initial(rng);
        double weight = 1.0, sum = 0.0;
        for (int depth = 0; depth < 100; depth++) {
            int a;
            do a = rng.integer(model.n_actions);
            while (!model.legal(s, a));
            sum += weight * model.step(s, a, rng);
            steps++;
            if (model.terminal(s)) break;
            if constexpr (observed) sum += model.observe(s, a, rng);
            weight *= model.discount;
        }
        total += sum;
    }
    return {total, steps};
}

template <class Draw>
static Result draws(uint64_t seed, int64_t count, Draw draw) {
    Rng rng(seed, 0);
    double total = 0.0;
    for (int64_t i = 0; i < count; i++) total += draw(rng, i);
    return {total, count};
}

template <class Model>
static Result simulate(bool observed, uint64_t seed, int64_t count) {
    static const Model model;
    return observed ? rollouts<true>(model, seed, count) : rollouts<false>(model, seed, count);
}

// --- POMCP ---

// What a tree branches on: the numbers of an observation, compared as a whole.
template <class Model>
static std::array<double, 1> seen(const Model& model, const typename Model::State& s, int a, Rng& rng) {
    return {model.observe(s, a, rng)};
}
static std::array<double, 8> seen(const LaserTag& model, const LaserTag::State& s, int, Rng& rng) {
    std::array<double, 8> numbers;
    const auto readings = model.readings(s, rng);
    std::copy(readings.begin(), readings.end(), numbers.begin());
    return numbers;
}

template <class Model>
struct Pomcp {
    using State = decltype(std::declval<Model>().initial(std::declval<Rng&>()));
    using Observation = decltype(seen(std::declval<Model>(), std::declval<State>(), 0, std::declval<Rng&>()));
    struct Action { int label, visits; double value; };
    struct History { int visits, first, count, parent; Observation observation; };  // count: of its actions, 0 before the first visit
    struct Step { int history, action; double reward; };

    static constexpr int DEPTH = 100, PARTICLES = 10000;
    static constexpr double C = 1.0;
    const Model model;
    std::vector<State> belief;
    std::vector<History> histories;
    std::vector<Action> actions;
    std::vector<int> table;  // open addressing: the history of a slot, -1 where there is none
    std::vector<Step> path;
    int64_t steps;

    // The slot of a history in the table, or the free slot where it belongs.
    size_t find(int action, const Observation& o) const {
        uint64_t hash = action;
        for (double x : o) {
            uint64_t bits;
            std::memcpy(&bits, &x, sizeof bits);
            hash = mix64(hash ^ bits);
        }
        size_t slot = hash & (table.size() - 1);
        for (; table[slot] >= 0; slot = (slot + 1) & (table.size() - 1)) {
            const History& h = histories[table[slot]];
            if (h.parent == action && h.observation == o) break;
        }
        return slot;
    }

    void add(int action, const Observation& o, size_t slot) {
        table[slot] = histories.size();
        histories.push_back({0, 0, 0, action, o});
        if (2 * histories.size() <= table.size()) return;
        table.assign(2 * table.size(), -1);
        for (size_t i = 1; i < histories.size(); i++) table[find(histories[i].parent, histories[i].observation)] = i;
    }

    // The largest V + c sqrt(ln N(h) / N(ha)); an untried action counts as infinite, or as 0 while N(h) < 2; ties at random.
    int choose(const History& h, Rng& rng) const {
        const double log_visits = std::log(double(std::max(1, h.visits))), untried = h.visits > 1 ? INFINITY : 0.0;
        double best = -INFINITY;
        int chosen = 0, ties = 0;
        for (int i = h.first + h.count - 1; i >= h.first; i--) {
            const Action& a = actions[i];
            const double score = a.visits ? a.value + C * std::sqrt(log_visits / a.visits) : untried;
            if (score > best) best = score, chosen = i, ties = 1;
            else if (score == best && rng.integer(++ties) == 0) chosen = i;
        }
        return chosen;
    }

    double rollout(State s, int depth, Rng& rng) {
        double total = 0.0, weight = 1.0;
        for (; depth < DEPTH; depth++) {
            int a;
            do a = rng.integer(model.n_actions);
            while (!model.legal(s, a));
            total += weight * model.step(s, a, rng);
            weight *= model.discount;
            steps++;
            if (model.terminal(s)) break;
        }
        return total;
    }

    void simulate(State s, Rng& rng) {
        path.clear();
        double value = 0.0;
        int at = 0;
        while (int(path.size()) < DEPTH) {
            if (histories[at].count == 0) {
                histories[at].first = actions.size();
                for (int a = 0; a < model.n_actions; a++)
                    if (model.legal(s, a)) actions.push_back({a, 0, 0.0});
                histories[at].count = actions.size() - histories[at].first;
            }
            const int chosen = choose(histories[at], rng), a = actions[chosen].label;
            path.push_back({at, chosen, model.step(s, a, rng)});
            steps++;
            if (model.terminal(s)) break;
            const Observation o = seen(model, s, a, rng);
            const size_t slot = find(chosen, o);
            if (table[slot] < 0) {
                add(chosen, o, slot);
                value = rollout(s, path.size(), rng);
                break;
            }
            at = table[slot];
        }
        for (auto step = path.rbegin(); step != path.rend(); ++step) {
            value = step->reward + model.discount * value;
            histories[step->history].visits++;
            Action& a = actions[step->action];
            a.visits++;
            a.value += (value - a.value) / a.visits;
        }
    }

    Result search(uint64_t seed, int64_t count) {
        belief.clear(), histories.clear(), actions.clear(), steps = 0;
        Rng rng(seed, 0);
        const uint64_t prior = rng.next() >> 2, decision = Rng(seed, 1).next() >> 2;
        for (int i = 0; i < PARTICLES; i++) {
            rng.reseed(prior, 0, i);
            belief.push_back(model.initial(rng));
        }
        table.assign(1024, -1);
        histories.push_back({0, 0, 0, -1, {}});
        for (int64_t i = 0; i < count; i++) {  // each on a stream of its own
            rng.reseed(decision, 0, i);
            simulate(belief[int(rng.uniform() * PARTICLES)], rng);
        }
        double total = 0.0;
        for (int i = 0; i < histories[0].count; i++) total += actions[i].value;
        return {total, steps};
    }
};

template <class Model>
static Result pomcp(uint64_t seed, int64_t count) {
    static Pomcp<Model> planner;  // keeps its memory from one search to the next
    return planner.search(seed, count);
}

// --- the program ---

// Annealing: N particles drawn from N(0, 1) around a known ancestor, bridged to one sharp reading by 100 temperatures, each
// with reweighting, systematic resampling where N / ESS exceeds 2, and one sweep of a random walk: the loop as one writes it.
struct Gauss {
    double sd = 0.01, noise = 1.0;

    double log_normal(double x, double mean, double spread) const {
        const double z = (x - mean) / spread;
        return -0.5 * z * z - std::log(spread) - 0.5 * std::log(2.0 * M_PI);
    }
};

static Result anneal(uint64_t seed, int64_t count, int n) {
    const Gauss model;
    const double reading = 1.5, step = 0.05, target = 2.0;
    const int temperatures = 100;
    std::vector<double> ancestor(n), x(n), log_likelihood(n), log_weight(n), weight(n), old_x(n), old_likelihood(n), old_ancestor(n);
    Rng rng(seed, 0), own(0, 0);
    double total_mean = 0.0;
    for (int64_t run = 0; run < count; run++) {
        const uint64_t key = rng.next() >> 2;
        uint64_t pass = 1;
        own.reseed(key, pass, 0);
        for (int i = 0; i < n; i++) {
            ancestor[i] = 0.0;
            log_weight[i] = -std::log(double(n));
            weight[i] = std::exp(log_weight[i]);
            x[i] = ancestor[i] + model.noise * own.normal();
            log_likelihood[i] = model.log_normal(reading, x[i], model.sd);
        }
        double beta = 0.0;
        for (int k = 1; k <= temperatures; k++) {
            const double f = double(k) / temperatures, next = f * f * f * f;
            double peak = -INFINITY, total = 0.0, squares = 0.0;
            for (int i = 0; i < n; i++) {
                log_weight[i] += (next - beta) * log_likelihood[i];
                peak = std::max(peak, log_weight[i]);
            }
            for (int i = 0; i < n; i++) {
                weight[i] = std::exp(log_weight[i] - peak);
                total += weight[i];
                squares += weight[i] * weight[i];
            }
            const double log_sum = peak + std::log(total);
            for (int i = 0; i < n; i++) weight[i] /= total, log_weight[i] -= log_sum;
            beta = next;
            if (n * squares / (total * total) > target) {
                pass++;
                old_x = x, old_likelihood = log_likelihood, old_ancestor = ancestor;
                double sum = 0.0;
                int last = 0;
                for (int i = 0; i < n; i++) {
                    sum += weight[i];
                    if (weight[i] > 0.0) last = i;
                }
                const double width = sum / n, offset = rng.uniform();
                double reached = weight[0];
                for (int j = 0, i = 0; j < n; j++) {
                    while (reached <= (j + offset) * width && i < last) reached += weight[++i];
                    x[j] = old_x[i], log_likelihood[j] = old_likelihood[i], ancestor[j] = old_ancestor[i];
                }
                for (int i = 0; i < n; i++) log_weight[i] = -std::log(double(n)), weight[i] = 1.0 / n;
            }
            pass++;
            own.reseed(key, pass, 0);
            for (int i = 0; i < n; i++) {
                const double proposed = x[i] + step * own.normal();
                const double likelihood = model.log_normal(reading, proposed, model.sd);
                const double ratio = beta * (likelihood - log_likelihood[i]) +
                                     (model.log_normal(proposed, ancestor[i], model.noise) - model.log_normal(x[i], ancestor[i], model.noise));
                if (ratio >= 0.0 || own.uniform() < std::exp(ratio)) x[i] = proposed, log_likelihood[i] = likelihood;
            }
        }
        double sum = 0.0;
        for (int i = 0; i < n; i++) sum += x[i];
        total_mean += sum;
    }
    return {total_mean, count * n * temperatures};
}

static double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static Result measure(const std::string& task, uint64_t seed, int64_t count) {
    if (task == "uniform") return draws(seed, count, [](Rng& rng, int64_t) { return rng.uniform(); });
    if (task == "normal") return draws(seed, count, [](Rng& rng, int64_t) { return rng.normal(); });
    if (task == "integer") return draws(seed, count, [](Rng& rng, int64_t) { return double(rng.integer(7)); });
    if (task == "reseed")
        return draws(seed, count, [seed](Rng& rng, int64_t i) {
            rng.reseed(seed, i, 3);
            asm volatile("" : : "r"(&rng) : "memory");  // no word is known before it is asked for
            return rng.uniform();
        });
    if (task == "light-dark+pomcp") return pomcp<LightDark>(seed, count);
    if (task == "tag+pomcp") return pomcp<Tag>(seed, count);
    if (task == "laser-tag+pomcp") return pomcp<LaserTag>(seed, count);
    if (task == "rock-sample+pomcp") return pomcp<RockSample>(seed, count);
    if (task.rfind("anneal-", 0) == 0) return anneal(seed, count, std::atoi(task.c_str() + 7));
    const bool observed = task.find('+') != std::string::npos;
    const std::string domain = task.substr(0, task.find('+'));
    if (domain == "light-dark") return simulate<LightDark>(observed, seed, count);
    if (domain == "tag") return simulate<Tag>(observed, seed, count);
    if (domain == "laser-tag") return simulate<LaserTag>(observed, seed, count);
    if (domain == "rock-sample") return simulate<RockSample>(observed, seed, count);
    std::fprintf(stderr, "no task %s\n", task.c_str());
    std::exit(2);
}

int main(int count, char** words) {
    if (count != 4) return std::fprintf(stderr, "usage: reference TASK SEED COUNT\n"), 2;
    const bool search = std::string(words[1]).find("+pomcp") != std::string::npos;
    measure(words[1], 1, search ? std::atoll(words[3]) : 1);  // tables are made, and a tree's memory taken, before the clock starts
    const double start = cpu_seconds();
    const Result result = measure(words[1], std::strtoull(words[2], nullptr, 10), std::atoll(words[3]));
    std::printf("%.9f %a %lld\n", cpu_seconds() - start, result.total, (long long)result.steps);
}
