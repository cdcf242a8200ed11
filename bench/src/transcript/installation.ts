/** An installation with messages and files, and an app of one of its users. */
import type { Api, ServerProcess, Session } from '@hermod/testkit'
import { BenchCaller, uploadBody, uploadHead } from '../files/file-caller.js'
import { GrowthPopulation } from '../growth/growth-population.js'
import { load } from '../load/processes.js'
import { findBuilds, portOf, type StoredServer, sqliteStorage } from '../measure/build.js'
import { App } from './app.js'

const messagesPerUser = 100
const fileBytes = 50_000
const uploaders = 20
const peerCount = 5
const messagesPerPeer = 30
const everyNthText = 2

/** A running service with its users. */
export interface Installation extends AsyncDisposable {
  readonly server: StoredServer
  readonly population: GrowthPopulation
  readonly person: Session
  readonly peers: readonly number[]
  readonly app: App
}

/** Starts the service and fills it through its API. */
export async function createInstallation(messages: number, files: number): Promise<Installation> {
  const server = await sqliteStorage().start(findBuilds(null)[0])
  try {
    const users = Math.max(100, Math.ceil(messages / messagesPerUser))
    const population = await GrowthPopulation.create(server, users)
    await population.grow(messages)
    await upload(server, files)
    const { api, url, appId } = server.process
    const person = await api.newSession('ada_lovelace')
    const peers: number[] = []
    for (let count = 0; count < peerCount; count++) peers.push((await api.newSession()).id)
    for (let count = 0; count < messagesPerPeer * peerCount; count++) {
      const peer = peers[count % peerCount] as number
      const [from, to] = count % everyNthText === 0 ? [person.id, peer] : [peer, person.id]
      await sendText(api, { from, to, text: `message ${count}` })
    }
    const dispose = () => server[Symbol.asyncDispose]()
    const app = new App(url, appId, person)
    return { server, population, person, peers, app, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

/** Sends a text on behalf of a user. */
export async function sendText(
  api: Api,
  { from, to, text }: { readonly from: number; readonly to: number; readonly text: string },
): Promise<void> {
  const body = { type: 1, targets: [to], content: text, content_type: 0 }
  await api.admin({ userId: from }).succeed('POST', '/message/send', { body })
}

async function upload(server: StoredServer, count: number): Promise<void> {
  const { process } = server
  const users: Session[] = []
  for (let user = 0; user < uploaders; user++) users.push(await process.api.newSession())
  const tickets = await new BenchCaller(process as ServerProcess, users).tickets(count)
  const body = uploadBody(fileBytes)
  const { errors, errorSamples } = await load({
    ...{ port: portOf(server), connections: uploaders, repeats: false, body, answerBytes: null },
    ...{ warmUpMs: 0, measureMs: Number.POSITIVE_INFINITY },
    heads: tickets.map(({ upload }) => uploadHead(upload, body)),
  })
  if (errors > 0) throw new Error(`uploads failed: ${errorSamples.join('\n')}`)
}
