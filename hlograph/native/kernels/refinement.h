// Colour refinement (Weisfeiler and Leman) of many graphs into one table.
//
// Knows neither XLA nor Python.
#ifndef HLOGRAPH_NATIVE_KERNELS_REFINEMENT_H_
#define HLOGRAPH_NATIVE_KERNELS_REFINEMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hlograph {

// Table that numbers distinct sequences of 64-bit words in the order of insertion.
class WordTable {
 public:
  WordTable() : offsets_{0}, slots_(kFirstSlots, -1) {}

  // Returns the number of a sequence, and stores it if it is new.
  int32_t Intern(const uint64_t* words, size_t count);
  // Does so with several sequences, words[offsets[i]] up to words[offsets[i + 1]], and writes their
  // numbers. Their places are fetched from memory at the same time.
  void InternAll(const uint64_t* words, const int64_t* offsets, int64_t count, int32_t* numbers);
  int64_t size() const { return static_cast<int64_t>(hashes_.size()); }
  // Sequence i is words()[offsets()[i]] up to words()[offsets()[i + 1]].
  const std::vector<int64_t>& offsets() const { return offsets_; }
  const std::vector<uint64_t>& words() const { return words_; }

 private:
  static constexpr size_t kFirstSlots = 1024;
  int32_t Intern(uint64_t hash, const uint64_t* words, size_t count);
  size_t SlotOf(uint64_t hash) const { return hash & (slots_.size() - 1); }
  bool IsAt(int32_t number, uint64_t hash, const uint64_t* words, size_t count) const;
  void Grow();

  std::vector<int64_t> offsets_;
  std::vector<uint64_t> words_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> slots_;  // open addressing; a power of two, -1 where free
};

// Edges of a graph grouped by node; each edge is listed at both of its nodes.
struct Neighbours {
  std::vector<int64_t> offsets;  // [nodes + 1]
  std::vector<int32_t> node;
  std::vector<int32_t> label;
};

// Sources and targets of edges, which may lie in any order.
struct Links {
  const int64_t* ends;
  int64_t edges;
  int64_t edge_stride;
  int64_t end_stride;  // from a source to its target

  int64_t source(int64_t edge) const { return ends[edge * edge_stride]; }
  int64_t target(int64_t edge) const { return ends[edge * edge_stride + end_stride]; }
};

// The label of edge e is labels[e] at its target, and labels[e] + reverse_label at
// its source.
// Throws std::out_of_range if a link is to no node or a label is negative.
Neighbours NeighboursOf(int64_t nodes, const Links& links, const int32_t* labels,
                        int32_t reverse_label);

// One edge of a colour: label in the upper half of a word, colour of the
// neighbour in the round before in the lower.
inline uint64_t PackEdge(int32_t label, int32_t colour) {
  return static_cast<uint64_t>(label) << 32 | static_cast<uint32_t>(colour);
}

// Distinct numbers, ascending, and by entry the place of its number among them.
struct Numbered {
  std::vector<int32_t> distinct;
  std::vector<int32_t> place;
};

// Throws std::out_of_range if a number is negative or not below `limit`.
Numbered NumberDistinct(const int32_t* numbers, int64_t count, int64_t limit);

// Distinct colours, ascending, and how often each one occurs.
struct CountedColours {
  std::vector<int32_t> colours;
  std::vector<float> counts;
};

// Colours of a round, defined by the round before.
struct RoundColours {
  std::vector<int64_t> own;      // [colours]: what the node itself was
  std::vector<int64_t> offsets;  // [colours + 1]: colour c has edges offsets[c] .. offsets[c + 1]
  std::vector<int32_t> source;   // [edges]: what the neighbour was
  std::vector<int32_t> label;    // [edges]
};

// Colours of round 0 are distinct rows; a colour of round r is the node's own
// colour in round r - 1 with the multiset of labels and colours around it.
// Sequences are compared in full, not by hash: equal colours mean equal
// neighbourhoods.
class Refinement {
 public:
  explicit Refinement(int rounds) : tables_(rounds + 1) {}

  int rounds() const { return static_cast<int>(tables_.size()) - 1; }
  // Round 0: one word sequence a row. Round r: own colour, then packed edges, sorted.
  const WordTable& table(int round) const { return tables_[round]; }

  // Returns the colours of rows of `row_words` words each.
  std::vector<int32_t> AddRows(const uint64_t* rows, int64_t count, size_t row_words);
  // Returns those of rows of `columns` floats, which are filled up with a zero to whole words.
  std::vector<int32_t> AddRows(const float* rows, int64_t count, size_t columns);
  // Returns the colours in a round of nodes with these colours in the round before.
  std::vector<int32_t> AddRound(int round, const std::vector<int32_t>& own,
                                const Neighbours& neighbours);
  // Returns the colours here of the sequences that another refinement has in a
  // round; `known` translates its colours of the round before.
  std::vector<int32_t> AddForeign(int round, const int64_t* offsets, const uint64_t* words,
                                  int64_t count, const int32_t* known, int64_t known_count);
  // Counts the last round's colours among those of a graph's nodes.
  // Throws std::out_of_range if there is no such colour.
  CountedColours Count(const int32_t* colours, int64_t nodes);
  // Returns the colours of a round from `first` on, with their edges whose label is below `labels`.
  RoundColours Round(int round, int64_t first, int32_t labels) const;
  // Returns some colours of a round, with their edges whose label is below `labels`. What they are
  // made of is numbered anew: those colours of the round before are written to `before`, ascending.
  // Throws std::out_of_range if there is no such colour.
  RoundColours Select(int round, const int32_t* chosen, int64_t count, int32_t labels,
                      std::vector<int32_t>* before) const;
  // Returns rows of `row_words` words each, by their colours in round 0.
  // Throws std::out_of_range if there is no such colour.
  std::vector<uint64_t> SelectRows(const int32_t* chosen, int64_t count, size_t row_words) const;

 private:
  // Interns the sequences of scratch_ in a round, with all but their first words sorted.
  std::vector<int32_t> InternSorted(int round);

  std::vector<WordTable> tables_;
  std::vector<uint64_t> scratch_;
  std::vector<int64_t> offsets_;  // of the sequences in scratch_
  std::vector<int32_t> counts_;   // by the last round's colours; zero between calls
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_REFINEMENT_H_
