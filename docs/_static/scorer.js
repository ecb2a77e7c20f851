// Order of search results: tasks, tutorials and explanations first, then the reference of names. Pages of a kind are
// ordered by the words asked for that are in their headings, where rare words count more, and in their titles. The
// page of a name, asked for as "KLN", "dp.KLN" or "dpjax.KLN", comes first.
const places = [
  ["glossary", 4], ["explain/pitfalls/", 4], ["explain/", 9], ["guide/", 10], ["learn/", 10], ["reference/api/", -3],
  ["project/changelog", -20],
];
// A result by an entry of the index of theorems shows the heading of its item, not that of the page.
const heading = (filename, page, anchor) => {
  const { filenames, alltitles } = Search._index;
  const file = filenames.indexOf(filename);
  const has = ([, found]) => found.some(([f, id]) => f === file && `#${id}` === anchor);
  const title = Object.entries(alltitles).find(has)?.[0];
  return title ? `${page} > ${title}` : page;
};
const share = (words, weight, found) => {
  const sum = (some) => some.reduce((total, word) => total + weight(word), 0);
  return sum(words.filter(found)) / (sum(words) || 1);
};
const asked = () => new URLSearchParams(window.location.search).get("q")?.trim() ?? "";
const isName = (docname) => docname === `reference/api/dpjax.${asked().replace(/^(dp|dpjax)\./, "")}`;
const inHeadings = (docname, title) => {
  const { docnames, terms, titleterms } = Search._index;
  const query = asked();
  const files = (index, word) => (Object.hasOwn(index, word) ? [index[word]].flat() : []);
  const rarity = (word) => Math.log((docnames.length + 1) / (files(terms, word).length + 1));
  const page = docnames.indexOf(docname);
  const inTitle = new Set(title.toLowerCase().split(/[^a-z0-9]+/));
  const words = query.toLowerCase().split(/[^a-z0-9]+/).filter((word) => word.length > 2);
  return 8 * share([...Search._parseQuery(query)[1]], rarity, (word) => files(titleterms, word).includes(page)) +
    6 * share(words, () => 1, (word) => inTitle.has(word));
};
var Scorer = {
  score: (result) => {
    const [docname, title, anchor, , score, filename, kind] = result;
    if (kind === "index" && docname.startsWith("reference/theorems/")) result[1] = heading(filename, title, anchor);
    return (kind === "text" ? Scorer.term + inHeadings(docname, title) : score) +
      (isName(docname) ? 20 : 0) +
      (places.find(([place]) => docname.startsWith(place))?.[1] ?? 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
