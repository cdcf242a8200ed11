import { spreadOf } from '../measure/statistics.js'
import type { ReactionsFigures } from '../reactions/reactions.js'
import type { ReactionResult } from '../realtime/reaction-load.js'
import { besideText, layOutTable, range, whole } from './format.js'

/** The most alterations of one message in a second. */
const maxAlterations = 5
/** The times of arrival scatter. */
const tolerance = 1.05

/** Returns a table of figures for each database. */
export function reactionsTables(all: readonly ReactionsFigures[]): string {
  return all
    .map((figures) =>
      [
        `Reactions on ${figures.database}, ${figures.rounds[0]?.users ?? 0} users to one message of a group of ${figures.devices} connected devices:`,
        layOutTable(['figure', 'value', 'aim', ''], rowsOf(figures)),
      ].join('\n'),
    )
    .join('\n\n')
}

function rowsOf({
  rounds,
  errors,
  halfLoad,
  sendsPerSecond,
  sendP50Ms,
}: ReactionsFigures): string[][] {
  const of = (figure: (result: ReactionResult) => number) => spreadOf(rounds.map(figure))
  const rate = of(({ eventsPerSecond }) => eventsPerSecond)
  const isExact = rounds.every((result) => result.isExact)
  return [
    [
      'highest rate of events at a device, a second',
      range(rate, tenths),
      whole(maxAlterations),
      verdict(rate.median <= maxAlterations * tolerance),
    ],
    [
      'events at each device',
      range(
        of(({ events }) => events),
        tenths,
      ),
      '-',
      '',
    ],
    [
      'sums of the message and of the last event',
      isExact ? 'exact' : 'WRONG',
      'exact',
      verdict(isExact),
    ],
    [
      'until the last call is answered',
      range(
        of((result) => result.ms),
        ms,
      ),
      '-',
      '',
    ],
    [
      'p50 of the answers',
      range(
        of(({ latency }) => latency.p50Ms),
        ms,
      ),
      '-',
      '',
    ],
    ['sends a second, beside reactions and without', besideText(sendsPerSecond, whole), '-', ''],
    [
      `p50 of ${whole(halfLoad)} sends a second, beside reactions and without`,
      besideText(sendP50Ms, ms),
      '-',
      '',
    ],
    ['errors', whole(errors), '0', verdict(errors === 0)],
  ]
}

const tenths = (value: number) => value.toFixed(1)
const ms = (value: number) => `${value.toFixed(1)} ms`
const verdict = (isMet: boolean) => (isMet ? 'met' : 'MISSED')
