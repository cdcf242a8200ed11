/** An answer, and the words of a question that it is for. */
interface Answer {
  readonly about: RegExp
  readonly text: string
}

const answers: readonly Answer[] = [
  {
    about: /weather|rain|sun|forecast/i,
    text: 'Saturday begins with fog over the lake, which is gone by eleven. From noon on there is sun, at 19 degrees, with a light wind from the west. It stays dry until late in the evening, so the way back is safe as well. Take something warm for the morning on the ferry.',
  },
  {
    about: /pack|bring|take/i,
    text: 'For a day at the lake:\n\n– shoes with a good sole, since the path is wet in the shade\n– a warm layer for the ferry\n– a litre and a half of water for each of you\n– the paper map, because there is no network behind the second hill\n– the good camera, and room in the bag for what is left of the cake',
  },
]

const fallback =
  'Take the train at 8:12 from platform 4 and change to the ferry at the lake, which goes at nine. The path begins at the pier: keep left along the water, and follow the yellow signs up to the chapel. It is the longer way, about eleven kilometres, but it has the better views. The last ferry back leaves at six.'

/** Returns the words of an answer, each with the space before it. */
export function answerTo(question: string): readonly string[] {
  const { text } = answers.find(({ about }) => about.test(question)) ?? { text: fallback }
  return text.split(/(?=\s\S)/)
}
