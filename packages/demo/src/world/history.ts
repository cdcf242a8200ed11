/** A user of the demo. */
export type Name = 'Ada' | 'Ben' | 'Cleo' | 'Dario' | 'Assistant'

/** A message of the history. */
export interface HistoryLine {
  readonly minutesAgo: number
  readonly from: Name
  readonly text: string
  readonly hasPicture?: boolean
  /** The text of the message that it replies to. */
  readonly replyTo?: string
  readonly reactions?: readonly (readonly [from: Name, key: string])[]
  /** The user who has pinned it. */
  readonly pinnedBy?: Name
}

const dayMinutes = 24 * 60
/** Days of short messages that come before the conversation, so that there is something to scroll. */
const walkDays = 75

/** The conversation of Ada and Ben, oldest first. */
export const directHistory: readonly [HistoryLine, ...HistoryLine[]] = [
  {
    minutesAgo: (walkDays + 3) * dayMinutes,
    from: 'Ada',
    text: 'Shall we walk a little every day, until the season begins?',
  },
  {
    minutesAgo: (walkDays + 3) * dayMinutes - 4,
    from: 'Ben',
    text: 'Good plan. Write me how far you got, then I cannot stay at home.',
  },
  ...Array.from({ length: walkDays }, (_, index) => walks(index)).flat(),
  { minutesAgo: 1600, from: 'Ben', text: 'The forecast for Saturday is out: sun from noon on.' },
  { minutesAgo: 1594, from: 'Ada', text: 'Then we could take the path along the lake.' },
  { minutesAgo: 1592, from: 'Ada', text: 'It is the longer one, but worth it.' },
  {
    minutesAgo: 1580,
    from: 'Ben',
    text: 'I was there last autumn. I must have a picture somewhere.',
  },
  { minutesAgo: 96, from: 'Ben', text: 'Found it!', hasPicture: true },
  {
    minutesAgo: 91,
    from: 'Ada',
    text: 'What a light. I will bring the good camera this time.',
    reactions: [['Ben', '👍']],
  },
  { minutesAgo: 90, from: 'Ada', text: 'Train at 8:12?' },
  {
    minutesAgo: 84,
    from: 'Ben',
    text: 'Perfect. Platform 4, I bring the coffee.',
    replyTo: 'Train at 8:12?',
    reactions: [
      ['Ada', '🎉'],
      ['Ben', '🎉'],
    ],
    pinnedBy: 'Ada',
  },
]

/** Two messages of one day. */
function walks(index: number): HistoryLine[] {
  const start = (walkDays + 2 - index) * dayMinutes
  const kilometres = (seed: number) => (4 + ((index * seed) % 53) / 10).toFixed(1)
  return [
    { minutesAgo: start, from: 'Ada', text: `${kilometres(17)} km today` },
    { minutesAgo: start - 25, from: 'Ben', text: `${kilometres(29)} km here` },
  ]
}

export const groupHistory: readonly HistoryLine[] = [
  { minutesAgo: 1500, from: 'Ben', text: 'Here we are, all three.' },
  { minutesAgo: 1490, from: 'Cleo', text: 'Hello! Who has a map?' },
  { minutesAgo: 1482, from: 'Ada', text: 'I have one, on paper even.' },
  { minutesAgo: 60, from: 'Cleo', text: 'I bring a cake.', reactions: [['Ben', '💜']] },
  { minutesAgo: 58, from: 'Cleo', text: 'Is 8:12 early enough for the ferry?' },
]

/** Messages that Ada has not read. */
export const unreadHistory: readonly HistoryLine[] = [
  {
    minutesAgo: 70,
    from: 'Assistant',
    text: 'Hello Ada. Ask me about the weather, the way or what to pack. I write my answers while you look, and you can stop me.',
  },
  { minutesAgo: 40, from: 'Dario', text: 'Are you in the office on Monday?' },
]
