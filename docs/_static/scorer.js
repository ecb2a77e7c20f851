// Order of search results: explanations first, then tutorials and tasks, then the reference of names.
const places = [
  ["glossary", 14], ["explain/", 10], ["guide/", 8], ["learn/", 8], ["reference/api/", -3], ["project/changelog", -20],
];
// A result by an entry of the index of theorems shows the heading of its item, not that of the page.
const heading = (filename, page, anchor) => {
  const { filenames, alltitles } = Search._index;
  const file = filenames.indexOf(filename);
  const has = ([, found]) => found.some(([f, id]) => f === file && `#${id}` === anchor);
  const title = Object.entries(alltitles).find(has)?.[0];
  return title ? `${page} > ${title}` : page;
};
var Scorer = {
  score: (result) => {
    const [docname, title, anchor, , score, filename, kind] = result;
    if (kind === "index" && docname.startsWith("reference/theorems/")) result[1] = heading(filename, title, anchor);
    return score + (places.find(([place]) => docname.startsWith(place))?.[1] ?? 0);
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
