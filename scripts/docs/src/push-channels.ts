/** The table in the push guide that says which product each channel stands for. */
import { gatewayChannels, pushChannelProducts } from '@hermod/protocol'
import { code, markdownTable } from './render.js'

const head = ['Channel', 'Product']
const writtenTable = /^\| Channel \| Product \|\n(?:\|.*\n)+/m

/**
 * Returns the guide with the current table in place of the written one.
 *
 * @throws Error if the guide has no such table
 */
export function withPushChannels(guide: string): string {
  if (!writtenTable.test(guide)) throw new Error(`the push guide has no table ${head.join(', ')}`)
  const rows = [...gatewayChannels, 'core' as const].map((channel) => [
    code(channel),
    pushChannelProducts[channel],
  ])
  return guide.replace(writtenTable, () => `${markdownTable(head, rows).trimEnd()}\n`)
}
