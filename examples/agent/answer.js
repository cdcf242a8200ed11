import { setTimeout as pause } from 'node:timers/promises'

const canned =
  'I am a **canned model**: I write the same words whatever you ask. Put your own model into `answer.js`. Until then I can count: ask me to *count to 100*, and stop me before I am there.'

/**
 * Yields the answer to a message, in pieces of any length. This one writes words with small pauses.
 *
 * An OpenAI-compatible model in its place, with `createInterface` of node:readline and `Readable` of
 * node:stream:
 *
 *   const { body } = await fetch(`${base}/chat/completions`, { signal, method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify({ model, messages: history, stream: true }) })
 *   for await (const line of createInterface({ input: Readable.fromWeb(body) })) if (line.startsWith('data: {')) yield JSON.parse(line.slice(6)).choices[0]?.delta.content ?? ''
 *
 * @param history messages as `{ role, content }`, oldest first. The last one is the question, or, after a
 *   restart in mid-sentence, the beginning of the answer (`assistant`), which is to be continued.
 * @param options.signal aborted when a reader asks to stop
 * @param options.show tells the readers what the assistant does: `await show('searching', 'the archive')`
 */
export async function* answer(message, history, { signal, show }) {
  const { role, content } = history.at(-1)
  const written = role === 'assistant' ? content.length : 0
  const [, last] = /count to (\d{1,3})\b/i.exec(message.text) ?? []
  const text = last ? Array.from({ length: Number(last) }, (_, at) => at + 1).join(' ') : canned
  if (written === 0 && !last) {
    await pause(1_000, undefined, { signal })
    await show('searching', 'the archive')
  }
  for (const word of text.slice(written).split(/(?<= )/)) {
    await pause(60, undefined, { signal })
    yield word
  }
}
