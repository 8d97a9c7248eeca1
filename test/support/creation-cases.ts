/** What a protocol of creation promises, by the names of its conformance cases: each kind of each provider is asked these. */
export const creationCases: readonly string[] = [
  "makes one resource of one token",
  "adopts what a create made whose answer was lost",
  "makes no duplicate while listings lag",
  "leaves nothing that nobody finds, whenever it is killed",
];
