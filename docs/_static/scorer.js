// Order of search results: explanations first, then tutorials and tasks, then the reference of names.
const places = [
  ["glossary", 14], ["explain/", 10], ["guide/", 8], ["learn/", 8], ["reference/api/", -3], ["project/changelog", -20],
];
var Scorer = {
  score: ([docname, title, anchor, description, score]) =>
    score + (places.find(([place]) => docname.startsWith(place))?.[1] ?? 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
