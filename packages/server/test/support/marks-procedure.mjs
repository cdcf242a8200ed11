/** A procedure over the table marks (mark, note), which refuses negative marks and with them ends the transaction. */
const { url: module } = import.meta

const insertMarks = { module, table: 'marks', columns: { mark: 'bigint', note: 'text' } }

/** Inserts each mark by a statement of its own, without waiting for any. @returns how many rows each has made */
export const writeMarks = {
  module,
  name: 'writeMarks',
  run: (context, marks) =>
    Promise.all(marks.map(([mark, note]) => context.change(insertMarks, [[mark, note]]))),
}
