#include "hlograph/native/kernels/refinement.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace hlograph {
namespace {

// The multiply-and-fold step of wyhash (Wang Yi, public domain).
uint64_t Fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Hash(const uint64_t* words, size_t count) {
  uint64_t hash = 0x9e3779b97f4a7c15ull ^ count;
  for (size_t i = 0; i < count; ++i) {
    hash = Fold(hash ^ 0xa0761d6478bd642full, words[i] ^ 0xe7037ed1a0b428dbull);
  }
  return hash;
}

}  // namespace

bool WordTable::IsAt(int32_t number, uint64_t hash, const uint64_t* words, size_t count) const {
  if (hashes_[number] != hash) return false;
  const int64_t begin = offsets_[number];
  return static_cast<size_t>(offsets_[number + 1] - begin) == count &&
         std::memcmp(words_.data() + begin, words, count * sizeof(uint64_t)) == 0;
}

int32_t WordTable::Intern(const uint64_t* words, size_t count) {
  return Intern(Hash(words, count), words, count);
}

int32_t WordTable::Intern(uint64_t hash, const uint64_t* words, size_t count) {
  size_t slot = SlotOf(hash);
  while (slots_[slot] >= 0) {
    if (IsAt(slots_[slot], hash, words, count)) return slots_[slot];
    slot = (slot + 1) & (slots_.size() - 1);
  }
  if (hashes_.size() == INT32_MAX) throw std::length_error("more than 2^31 - 1 colours");
  const int32_t number = static_cast<int32_t>(hashes_.size());
  slots_[slot] = number;
  hashes_.push_back(hash);
  words_.insert(words_.end(), words, words + count);
  offsets_.push_back(static_cast<int64_t>(words_.size()));
  if (hashes_.size() * 2 > slots_.size()) Grow();
  return number;
}

void WordTable::InternAll(const uint64_t* words, const int64_t* offsets, int64_t count,
                          int32_t* numbers) {
  constexpr int64_t kTogether = 32;
  uint64_t hashes[kTogether];
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t size = std::min(kTogether, count - begin);
    const int64_t* offset = offsets + begin;
    for (int64_t i = 0; i < size; ++i) {
      hashes[i] = Hash(words + offset[i], offset[i + 1] - offset[i]);
      __builtin_prefetch(&slots_[SlotOf(hashes[i])]);
    }
    for (int64_t i = 0; i < size; ++i) {
      const int32_t number = slots_[SlotOf(hashes[i])];
      if (number < 0) continue;
      __builtin_prefetch(&hashes_[number]);
      __builtin_prefetch(&offsets_[number]);
    }
    for (int64_t i = 0; i < size; ++i) {
      const int32_t number = slots_[SlotOf(hashes[i])];
      if (number >= 0 && hashes_[number] == hashes[i]) {
        __builtin_prefetch(words_.data() + offsets_[number]);
      }
    }
    for (int64_t i = 0; i < size; ++i) {
      numbers[begin + i] = Intern(hashes[i], words + offset[i], offset[i + 1] - offset[i]);
    }
  }
}

void WordTable::Grow() {
  slots_.assign(slots_.size() * 2, -1);
  for (size_t number = 0; number < hashes_.size(); ++number) {
    size_t slot = hashes_[number] & (slots_.size() - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int32_t>(number);
  }
}

Neighbours NeighboursOf(int64_t nodes, const Links& links, const int32_t* labels,
                        int32_t reverse_label) {
  Neighbours result;
  result.offsets.assign(nodes + 1, 0);
  for (int64_t e = 0; e < links.edges; ++e) {
    const int64_t source = links.source(e), target = links.target(e);
    if (source < 0 || source >= nodes || target < 0 || target >= nodes || labels[e] < 0) {
      throw std::out_of_range("an edge to a node that there is not, or with a negative label");
    }
    ++result.offsets[source + 1];
    ++result.offsets[target + 1];
  }
  for (int64_t n = 0; n < nodes; ++n) result.offsets[n + 1] += result.offsets[n];
  result.node.resize(2 * links.edges);
  result.label.resize(2 * links.edges);
  std::vector<int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  const auto add = [&](int64_t at, int64_t neighbour, int32_t label) {
    const int64_t place = next[at]++;
    result.node[place] = static_cast<int32_t>(neighbour);
    result.label[place] = label;
  };
  for (int64_t e = 0; e < links.edges; ++e) {
    add(links.target(e), links.source(e), labels[e]);
    add(links.source(e), links.target(e), labels[e] + reverse_label);
  }
  return result;
}

std::vector<int32_t> Refinement::AddRows(const uint64_t* rows, int64_t count, size_t row_words) {
  offsets_.resize(count + 1);
  for (int64_t i = 0; i <= count; ++i) offsets_[i] = i * static_cast<int64_t>(row_words);
  std::vector<int32_t> colours(count);
  tables_[0].InternAll(rows, offsets_.data(), count, colours.data());
  return colours;
}

std::vector<int32_t> Refinement::AddRows(const float* rows, int64_t count, size_t columns) {
  const size_t row_words = (columns + 1) / 2;
  scratch_.assign(count * row_words, 0);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(scratch_.data() + i * row_words, rows + i * columns, columns * sizeof(float));
  }
  return AddRows(scratch_.data(), count, row_words);
}

std::vector<int32_t> Refinement::InternSorted(int round) {
  const int64_t count = static_cast<int64_t>(offsets_.size()) - 1;
  for (int64_t i = 0; i < count; ++i) {
    std::sort(scratch_.begin() + offsets_[i] + 1, scratch_.begin() + offsets_[i + 1]);
  }
  std::vector<int32_t> colours(count);
  tables_[round].InternAll(scratch_.data(), offsets_.data(), count, colours.data());
  return colours;
}

std::vector<int32_t> Refinement::AddRound(int round, const std::vector<int32_t>& own,
                                          const Neighbours& neighbours) {
  scratch_.resize(own.size() + neighbours.node.size());
  offsets_.assign(1, 0);
  uint64_t* word = scratch_.data();
  for (size_t n = 0; n < own.size(); ++n) {
    *word++ = static_cast<uint64_t>(own[n]);
    for (int64_t e = neighbours.offsets[n]; e < neighbours.offsets[n + 1]; ++e) {
      *word++ = PackEdge(neighbours.label[e], own[neighbours.node[e]]);
    }
    offsets_.push_back(word - scratch_.data());
  }
  return InternSorted(round);
}

std::vector<int32_t> Refinement::AddForeign(int round, const int64_t* offsets,
                                            const uint64_t* words, int64_t count,
                                            const int32_t* known, int64_t known_count) {
  const auto translated = [&](uint64_t colour) {
    if (colour >= static_cast<uint64_t>(known_count)) {
      throw std::out_of_range("a colour that the round before has not");
    }
    return known[colour];
  };
  scratch_.clear();
  offsets_.assign(1, 0);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t* word = words + offsets[i];
    const uint64_t* end = words + offsets[i + 1];
    if (word == end) throw std::out_of_range("a colour without one of its own before");
    scratch_.push_back(static_cast<uint64_t>(translated(*word)));
    for (++word; word != end; ++word) {
      scratch_.push_back((*word >> 32) << 32 |
                         static_cast<uint32_t>(translated(static_cast<uint32_t>(*word))));
    }
    offsets_.push_back(static_cast<int64_t>(scratch_.size()));
  }
  return InternSorted(round);
}

CountedColours Refinement::Count(const int32_t* colours, int64_t nodes) {
  const int64_t limit = tables_.back().size();
  counts_.resize(limit, 0);
  for (int64_t n = 0; n < nodes; ++n) {
    if (colours[n] < 0 || colours[n] >= limit) throw std::out_of_range("there is no such colour");
  }
  CountedColours result;
  for (int64_t n = 0; n < nodes; ++n) {
    if (counts_[colours[n]]++ == 0) result.colours.push_back(colours[n]);
  }
  std::sort(result.colours.begin(), result.colours.end());
  result.counts.reserve(result.colours.size());
  for (const int32_t colour : result.colours) {
    result.counts.push_back(static_cast<float>(counts_[colour]));
    counts_[colour] = 0;
  }
  return result;
}

Numbered NumberDistinct(const int32_t* numbers, int64_t count, int64_t limit) {
  std::vector<int32_t> place_of(limit, -1);
  for (int64_t i = 0; i < count; ++i) {
    if (numbers[i] < 0 || numbers[i] >= limit) throw std::out_of_range("there is no such colour");
    place_of[numbers[i]] = 0;
  }
  Numbered result;
  for (int64_t n = 0; n < limit; ++n) {
    if (place_of[n] < 0) continue;
    place_of[n] = static_cast<int32_t>(result.distinct.size());
    result.distinct.push_back(static_cast<int32_t>(n));
  }
  result.place.resize(count);
  for (int64_t i = 0; i < count; ++i) result.place[i] = place_of[numbers[i]];
  return result;
}

namespace {

// Appends a colour to those of a round.
void Append(const WordTable& table, int64_t colour, int32_t labels, RoundColours& result) {
  const uint64_t* word = table.words().data() + table.offsets()[colour];
  const uint64_t* end = table.words().data() + table.offsets()[colour + 1];
  result.own.push_back(static_cast<int64_t>(*word));
  for (++word; word != end; ++word) {
    const int32_t label = static_cast<int32_t>(*word >> 32);
    if (label >= labels) break;  // edges are sorted by their labels
    result.source.push_back(static_cast<int32_t>(*word));
    result.label.push_back(label);
  }
  result.offsets.push_back(static_cast<int64_t>(result.source.size()));
}

RoundColours Reserved(int64_t colours, int64_t words) {
  RoundColours result;
  result.own.reserve(colours);
  result.offsets.reserve(colours + 1);
  result.offsets.push_back(0);
  result.source.reserve(words - colours);
  result.label.reserve(words - colours);
  return result;
}

}  // namespace

RoundColours Refinement::Round(int round, int64_t first, int32_t labels) const {
  const WordTable& table = tables_[round];
  RoundColours result =
      Reserved(table.size() - first, table.offsets().back() - table.offsets()[first]);
  for (int64_t c = first; c < table.size(); ++c) Append(table, c, labels, result);
  return result;
}

RoundColours Refinement::Select(int round, const int32_t* chosen, int64_t count, int32_t labels,
                                std::vector<int32_t>* before) const {
  const WordTable& table = tables_[round];
  int64_t words = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (chosen[i] < 0 || chosen[i] >= table.size()) {
      throw std::out_of_range("there is no such colour");
    }
    words += table.offsets()[chosen[i] + 1] - table.offsets()[chosen[i]];
  }
  RoundColours result = Reserved(count, words);
  for (int64_t i = 0; i < count; ++i) Append(table, chosen[i], labels, result);
  std::vector<int32_t> wanted(result.own.begin(), result.own.end());
  wanted.insert(wanted.end(), result.source.begin(), result.source.end());
  Numbered found =
      NumberDistinct(wanted.data(), static_cast<int64_t>(wanted.size()), tables_[round - 1].size());
  std::copy_n(found.place.begin(), count, result.own.begin());
  std::copy(found.place.begin() + count, found.place.end(), result.source.begin());
  *before = std::move(found.distinct);
  return result;
}

std::vector<uint64_t> Refinement::SelectRows(const int32_t* chosen, int64_t count,
                                             size_t row_words) const {
  const WordTable& table = tables_[0];
  std::vector<uint64_t> rows(count * row_words);
  for (int64_t i = 0; i < count; ++i) {
    if (chosen[i] < 0 || chosen[i] >= table.size()) {
      throw std::out_of_range("there is no such colour");
    }
    const uint64_t* row = table.words().data() + table.offsets()[chosen[i]];
    std::copy_n(row, row_words, rows.begin() + i * row_words);
  }
  return rows;
}

}  // namespace hlograph
