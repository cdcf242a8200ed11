import type { CallsFigures, GroupEvent } from '../calls/calls.js'
import { layOutTable, whole } from './format.js'

const maxCalls = 50
const sendAimMs = 100
const names: Readonly<Record<GroupEvent, string>> = {
  rename: 'a rename',
  join: 'a join',
  recall: 'the recall of an unread message',
  message: 'a message on all screens',
  reaction: 'a reaction',
  pin: 'a pin',
  streamBegin: 'the begin of a stream',
  delta: 'a piece of its text',
  streamEnd: 'its end',
  deltaGap: 'a piece after one that all screens lack',
  replyToUnread: 'a reply whose original no screen has',
}
/** Each screen has to ask, at a random time that the members make longer. */
const spread: readonly GroupEvent[] = ['deltaGap', 'replyToUnread']

/** Returns a table of figures for each database. */
export function callsTables(all: readonly CallsFigures[]): string {
  return all
    .map(({ database, clients, events, conversations, sendP95Ms }) =>
      [
        `Calls per event on ${database}, ${clients} connected clients of one group:`,
        layOutTable(
          ['figure', 'value', 'aim', ''],
          [
            ...events.map(({ event, inSecond, inAll }) => [
              `most calls in a second after ${names[event]}`,
              `${whole(inSecond)} (in all: ${whole(inAll)})`,
              ...(spread.includes(event)
                ? ['-', '']
                : [whole(maxCalls), verdict(inSecond <= maxCalls)]),
            ]),
            [
              `sends with ${conversations} conversations, p95`,
              `${sendP95Ms.toFixed(1)} ms`,
              `${sendAimMs} ms`,
              verdict(sendP95Ms <= sendAimMs),
            ],
          ],
        ),
      ].join('\n'),
    )
    .join('\n\n')
}

const verdict = (isMet: boolean) => (isMet ? 'met' : 'MISSED')
