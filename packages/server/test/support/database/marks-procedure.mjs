/**
 * A procedure over the table marks (mark, note), which refuses negative marks and with them ends
 * the transaction.
 */
const { url: module } = import.meta

const insertMarks = { module, table: 'marks', columns: { mark: 'bigint', note: 'text' } }

/** As {@link writeMarks}, as the last statements of the transaction. */
export const writeLastMarks = {
  module,
  name: 'writeLastMarks',
  async run(context, [first, ...others]) {
    const [mark, note] = first
    const made = await context.change(insertMarks, [[mark, note]])
    return {
      last: others.map((row) => ({ statement: insertMarks, rows: [row] })),
      output: (results) => [made, ...results.map(() => 1)],
    }
  },
}

/**
 * Inserts each mark by a statement of its own, without waiting for any.
 * @returns how many rows each has made
 */
export const writeMarks = {
  module,
  name: 'writeMarks',
  async run(context, marks) {
    const made = await Promise.all(
      marks.map(([mark, note]) => context.change(insertMarks, [[mark, note]])),
    )
    return { last: [], output: () => made }
  },
}

/** Reads a setting within the transaction. */
export const readSetting = {
  module,
  name: 'readSetting',
  async run(context, table) {
    const [row] = await context.run({ table, keys: { mark: 'bigint' }, columns: 't.setting' }, [
      [1],
    ])
    return { last: [], output: () => row.setting }
  },
}
