import type { Comparison } from '../../imports/stream/stream-compare.js'
import type { StreamSummary } from '../../imports/stream/stream-file.js'
import type { Outcomes } from '../../imports/stream/stream-import.js'
import { counted } from '../../lib/counted.js'
import { formatTable } from '../runtime/output.js'

/** The result of an import. */
export interface RunReport extends StreamSummary {
  readonly imported: Readonly<Record<'users' | 'groups' | 'messages' | 'members', Outcomes>>
  readonly compared: Comparison
}

/** Returns what is in a file, for people. */
export function checkText(summary: StreamSummary): string {
  const { mapped, left_out, notes, samples } = summary
  const items = Object.entries(summary.in).map(([type, count]) => ({ type, items: count }))
  const become = Object.entries(mapped).map(([what, count]) => ({ becomes: what, count }))
  return sections([
    formatTable(items, 'The file has no items.'),
    formatTable(become, ''),
    leftOutText(left_out),
    formatTable(notes, ''),
    samples.length === 0
      ? ''
      : `The first of those that are left out:\n${formatTable(samples, '')}`,
  ])
}

/** Returns what an import has done, for people. */
export function runText({ imported, compared, left_out, notes }: RunReport): string {
  const rows = Object.entries(imported).map(([what, outcomes]) => ({ what, ...outcomes }))
  const { differences, different, removed } = compared
  return sections([
    formatTable(rows, ''),
    leftOutText(left_out),
    formatTable(notes, ''),
    `${counted(compared.compared, 'random message')} compared, ${different} different.`,
    removed === 0 ? '' : `${removed} of earlier runs were recalled since, or are too old.`,
    formatTable(differences, ''),
  ])
}

function leftOutText(leftOut: StreamSummary['left_out']): string {
  const rows = leftOut.map(({ type, reason, is_fault, count }) => ({
    left_out: type,
    count,
    bad: is_fault,
    reason,
  }))
  return formatTable(rows, '')
}

function sections(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n')
}
