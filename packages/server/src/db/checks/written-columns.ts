/** The write of a statement, by its text. */
export interface Write {
  readonly table: string
  readonly kind: 'insert' | 'update' | 'delete'
  /** The columns that it sets; none for a delete. */
  readonly columns: readonly string[]
}

const name = String.raw`"?(\w+)"?`
const insert = new RegExp(
  String.raw`\binsert\s+into\s+${name}(?:\s+as\s+"?\w+"?)?\s*\(([^)]*)\)`,
  'g',
)
// `for update` and `do update` are no statements of their own.
const update = new RegExp(
  String.raw`(?<!\b(?:for|key|do)\s+)\bupdate\s+${name}(?:\s+(?:as\s+)?(?!set\b)"?\w+"?)?\s+set\s+`,
  'g',
)
const remove = new RegExp(String.raw`\bdelete\s+from\s+${name}`, 'g')
const conflictUpdate = /\bdo\s+update\s+set\s+/

/** The writes of statements; each text is parsed once. */
export class KnownWrites {
  readonly #writes = new Map<string, readonly Write[]>()

  of(sql: string): readonly Write[] {
    const known = this.#writes.get(sql) ?? writesOf(sql)
    this.#writes.set(sql, known)
    return known
  }
}

/**
 * Finds the writes in a statement of ours, built or by hand: keywords are in lower case and texts
 * are parameters.
 */
export function writesOf(sql: string): Write[] {
  return [
    ...[...sql.matchAll(insert)].flatMap(({ 1: table = '', 2: list = '', index, 0: text }) => {
      const rest = sql.slice(index + text.length)
      const conflict = conflictUpdate.exec(rest)
      const inserted = { table, kind: 'insert' as const, columns: list.split(',').map(unquoted) }
      if (!conflict) return [inserted]
      const set = rest.slice(conflict.index + conflict[0].length)
      return [inserted, { table, kind: 'update' as const, columns: assigned(set) }]
    }),
    ...[...sql.matchAll(update)].map(({ 1: table = '', index, 0: text }) => ({
      table,
      kind: 'update' as const,
      columns: assigned(sql.slice(index + text.length)),
    })),
    ...[...sql.matchAll(remove)].map(({ 1: table = '' }) => ({
      table,
      kind: 'delete' as const,
      columns: [],
    })),
  ]
}

/** The columns before the `=` of a list of assignments, which ends at the first clause that follows it. */
function assigned(list: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  let end = list.length
  for (const { 0: token, index } of list.matchAll(/[(),]|\b(?:where|from|returning)\b/g)) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (depth === 0 && token === ',') {
      parts.push(list.slice(start, index))
      start = index + 1
    } else if (depth === 0) {
      end = index
      break
    }
    // The closing bracket of a statement within a statement.
    if (depth < 0) {
      end = index
      break
    }
  }
  parts.push(list.slice(start, end))
  return parts.map((part) => unquoted(part.slice(0, part.indexOf('='))))
}

function unquoted(column: string): string {
  return column.trim().replaceAll('"', '')
}
