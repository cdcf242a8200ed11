import type { EntrySize } from '../client/bundles.js'
import type { BrowserFigures, ClientFigures } from '../client/client.js'
import type { Ratio } from '../measure/statistics.js'
import { layOutTable } from './format.js'

interface Row {
  readonly figure: string
  readonly value: string
  /** Absent: a figure without an aim. */
  readonly aim?: string
  readonly isMet?: boolean
}

/** Entries with an aim, in bytes gzipped. */
const sizeAims: Readonly<Record<string, number>> = {
  '@hermod/client/core': 30_000,
  '@hermod/client': 30_000,
  '@hermod/client/react': 1_500,
}
const shownModules = 12

/** Returns a table of figures for each database, with the modules of the entries. */
export function clientTables(all: readonly ClientFigures[]): string {
  return all
    .map((figures) => {
      const { database, browser, sizes } = figures
      const rows = [...(browser ? browserRows(browser, figures) : []), ...sizes.map(sizeRow)]
      return [
        `Client on ${database}, ${browser ? `Chromium ${browser.version}` : 'Chromium not found'}; medians, in parentheses the spread of the rounds:`,
        layOutTable(
          ['figure', 'value', 'aim', ''],
          rows.map(({ figure, value, aim = '-', isMet }) => [
            figure,
            value,
            aim,
            isMet === undefined ? '' : isMet ? 'met' : 'MISSED',
          ]),
        ),
        ...sizes.map(modulesLine),
      ].join('\n')
    })
    .join('\n\n')
}

function browserRows(
  browser: BrowserFigures,
  { messages, conversations }: ClientFigures,
): readonly Row[] {
  const { screenFromStoreMs, screenFromNothingMs, appliedInMemoryMs, appliedInIndexedDbMs } =
    browser
  return [
    timeRow('page without a client, on screen', browser.barePageMs),
    timeRow('first message on screen, from the store', screenFromStoreMs, 150),
    timeRow('first message on screen, from nothing', screenFromNothingMs, 400),
    timeRow(`${messages} messages applied, in memory`, appliedInMemoryMs),
    timeRow(`${messages} messages applied, in IndexedDB`, appliedInIndexedDbMs, 1_000),
    timeRow(`list of ${conversations} conversations complete`, browser.listMs),
    {
      figure: `JavaScript heap of ${conversations} conversations`,
      value: spreadText(browser.heapBytes, (bytes) => `${(bytes / 1e6).toFixed(1)} MB`),
    },
  ]
}

function timeRow(figure: string, ms: Ratio, aimMs?: number): Row {
  const value = spreadText(ms, (each) => `${each.toFixed(0)} ms`)
  return aimMs === undefined
    ? { figure, value }
    : { figure, value, aim: `${aimMs} ms`, isMet: ms.median <= aimMs }
}

function spreadText({ median, min, max }: Ratio, format: (value: number) => string): string {
  return `${format(median)} (${format(min)} to ${format(max)})`
}

function sizeRow({ entry, gzippedBytes, minifiedBytes }: EntrySize): Row {
  const aim = sizeAims[entry]
  return {
    figure: `${entry}, gzipped`,
    value: `${kilobytes(gzippedBytes)} (${kilobytes(minifiedBytes)} minified)`,
    ...(aim === undefined ? {} : { aim: kilobytes(aim), isMet: gzippedBytes <= aim }),
  }
}

function modulesLine({ entry, modules }: EntrySize): string {
  const shown = modules
    .slice(0, shownModules)
    .map(({ name, bytes }) => `${name.replace('packages/client/dist/', '')} ${kilobytes(bytes)}`)
  const rest = modules.length - shown.length
  return `${entry}, ${modules.length} modules: ${shown.join(', ')}${rest > 0 ? ` and ${rest} smaller ones` : ''}`
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} KB`
}
