/** A client on ports where there is no more than React Native has. */
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { startServer } from '@hermod/testkit'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'

/** Of the platform; a context has the language itself, without `URL`, `document` and events of a page. */
const globals = {
  ...{ setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, console, performance },
  ...{ fetch, WebSocket, Blob, AbortController, TextEncoder },
  navigator: { product: 'ReactNative' },
}

const program = `
for (const name of ['toSorted', 'toReversed', 'toSpliced', 'with']) delete Array.prototype[name]
globalThis.window = globalThis

async function sendTo(peer, options) {
  const openStore = async () => ports.memoryStore()
  const client = ports.createClientWith(options, { ...ports.browserPorts(), openStore, platform: 'ios' })
  await client.connect()
  const { messages, send } = client.direct(peer)
  const stored = new Promise((resolve) => {
    messages.subscribe(() => {
      const [message] = messages.getSnapshot().messages
      if (message?.id > 0) resolve(message.status)
    })
  })
  await send('Hello from a phone')
  const result = [await stored, client.isDurable.getSnapshot()]
  await client.close()
  return result
}`

it('client: with the globals of React Native and a store of the app it sends a message', async () => {
  await using server = await startServer({ appId: 'hermod' })
  const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  const input = join(import.meta.dirname, '../dist/ports.js')
  const build = await rolldown({ input, platform: 'browser' })
  const { output } = await build.generate({ format: 'iife', name: 'ports' })
  await build.close()
  const context = createContext({ ...globals })
  runInContext(output[0].code + program, context)
  const options = { url: server.url, appId: 'hermod', userId: alice.id, token: () => alice.token }
  expect(await context.sendTo(bob.id, options)).toEqual(['sent', true])
})
