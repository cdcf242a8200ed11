import { importedText, type LinkKeyOf } from './addresses.js'
import type { LineValues, RowRules } from './import-rows.js'
import { LineError, type LineRow, type LineType, lineTypes } from './lines.js'

/** This installation, and what a portable export may bring into it. */
export interface PortableTarget {
  /** The applications that the export names. */
  readonly apps: ReadonlySet<string>
  readonly linkKeyOf: LinkKeyOf
  /** The address of this installation, for addresses of files; null: it is not known. */
  readonly base: string | null
  /** The greatest value of instants and positions that rows may have. */
  readonly greatest: number
  /** The greatest ID of messages that rows may have. */
  readonly greatestId: number
  /** Returns secrets of an application of this installation, by column of `apps`. */
  readonly secretsOf: (appId: string) => Readonly<Record<string, string>>
  /** Returns what is wrong with a row of a table: the end of a sentence, or null. */
  readonly rowProblem: (table: string, row: LineRow) => string | null
}

/** Numbers that are read or added up for all applications together, by table. */
const readTogether: Readonly<Record<string, readonly string[]>> = {
  apps: ['created_at'],
  outbox_heads: ['position'],
  outbox_positions: ['position'],
  files: ['size', 'crc32', 'created_at'],
}

/** IDs of messages. A service continues after them, with all later IDs of all applications. */
const messageIds = /^(?:(?:\w+_)?msg_id|reply_to_id|last_broadcast_id|broadcasts_after)$/

/** IDs of users and transactions, and capacities of groups, may have 64 bits. */
const ofServers = /(?:_(?:id|by)|^capacity)$/
const all = { least: Number.NEGATIVE_INFINITY, greatest: Number.POSITIVE_INFINITY }
const exact = { least: Number.MIN_SAFE_INTEGER, greatest: Number.MAX_SAFE_INTEGER }

/**
 * Returns the rules for the rows of a portable export. It may come from a stranger, so no row may
 * reach an application of another export, or break what reads rows of all applications.
 */
export function portableRules(target: PortableTarget): RowRules {
  return {
    types: lineTypes.portable,
    accept: (type, values) => acceptedValues(target, type, values),
    made: ({ name, columns }, values) =>
      name === 'apps'
        ? target.secretsOf(String(values[columns.findIndex((each) => each.name === 'app_id')]))
        : {},
  }
}

function acceptedValues(target: PortableTarget, type: LineType, values: LineValues): LineValues {
  const appId = String(values[type.columns.findIndex(({ name }) => name === 'app_id')])
  if (!target.apps.has(appId))
    throw new LineError(`has the app_id ${appId}, which the export does not name`)
  const accepted = values.map((value, at) => {
    const { kind, member, name = '' } = type.columns[at] ?? {}
    if (kind === 'text' && typeof value === 'string')
      return textOf(target, appId, { text: value, member: String(member) })
    const { least, greatest } = boundsOf(target, type, name)
    if (value !== null && kind !== 'text' && !(Number(value) >= least && Number(value) <= greatest))
      throw new LineError(
        `has ${value} in ${member}, which is no number from ${least} to ${greatest}`,
      )
    return value
  })
  const row = Object.fromEntries(type.columns.map(({ name }, at) => [name, accepted[at] ?? null]))
  const problem = target.rowProblem(type.name, row)
  if (problem !== null) throw new LineError(problem)
  return accepted
}

function boundsOf(
  { greatest, greatestId }: PortableTarget,
  { name: table }: LineType,
  name: string,
) {
  if (messageIds.test(name)) return { least: 0, greatest: greatestId }
  if (readTogether[table]?.includes(name)) return { least: 0, greatest }
  // At the end of 64 bits an addition fails, with those of other applications in the same statement.
  return ofServers.test(name) ? all : exact
}

function textOf(
  { linkKeyOf, base }: PortableTarget,
  appId: string,
  { text, member }: { readonly text: string; readonly member: string },
): string {
  if (base === null && text.includes('hermod:base'))
    throw new LineError(
      `has addresses of files in ${member}, and HERMOD_PUBLIC_URL is not set, which is the address of this installation`,
    )
  try {
    return importedText(linkKeyOf, base ?? '', { appId, text })
  } catch (error) {
    if (!(error instanceof LineError)) throw error
    throw new LineError(`${error.message} in ${member}`, { cause: error })
  }
}
