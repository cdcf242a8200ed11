/** Consumers that are killed at any moment miss nothing, and see every key's facts in their order. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Child, isFullRun, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import type { DeliveredEvent } from '../../dist/outbox/consumer.js'
import { OutboxDatabase, OutboxNode, TestConsumer } from '../support/database/outbox-node.js'
import { Random } from '../support/random.js'

const script = fileURLToPath(new URL('../support/database/outbox-child.mjs', import.meta.url))
const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const kills = isFullRun ? 6 : 1
const nodeKills = isFullRun ? 3 : 1
const timeoutMs = 240_000
const patience = { timeoutMs: 90_000 }
/** Numbers of a later process are above those of an earlier one. */
const numbersPerRun = 1_000_000

/** What processes answered and what their consumers saw. */
class Ledger {
  readonly answered = new Set<string>()
  /** Facts in the order in which they were seen first. */
  readonly seen = new Set<string>()
  readonly #lastPositions = new Map<Child, number>()
  readonly wrong: string[] = []
  repeated = 0

  follow(child: Child): void {
    child.watch((line) => {
      const [what, ...words] = line.split(' ')
      if (what === 'did') this.answered.add(words.join(' '))
      else if (what === 'saw') this.#saw(child, Number(words[0]), words.slice(1).join(' '))
      else if (what !== 'started') this.wrong.push(line)
    })
  }

  #saw(child: Child, position: number, fact: string): void {
    if (position < (this.#lastPositions.get(child) ?? 0))
      this.wrong.push(`position ${position} after ${this.#lastPositions.get(child)}`)
    this.#lastPositions.set(child, position)
    if (this.seen.has(fact)) this.repeated++
    this.seen.add(fact)
  }

  get missing(): string[] {
    return [...this.answered].filter((fact) => !this.seen.has(fact))
  }

  /** Facts that were seen first after a later one of the same key. */
  get disordered(): string[] {
    const last = new Map<string, number>()
    return [...this.seen].filter((fact) => {
      const [key = '', number] = fact.split(' ')
      const before = last.get(key) ?? -1
      last.set(key, Number(number))
      return Number(number) < before
    })
  }
}

function factOf({ payload }: DeliveredEvent): string {
  if ('content' in payload) return payload.content
  if ('value' in payload) return String(payload.value)
  return 'properties' in payload ? (payload.properties[0] ?? '') : ''
}

describe.each(testBackends('durable'))('outbox consumer on $name', (backend) => {
  const startNode = (place: OutboxDatabase, ledger: Ledger, node: string, run: number): Child => {
    const kinds = ['conversation', 'conversation', 'group', 'user']
    const keys = kinds.map((kind, index) => `${kind}:${node}-${index}`)
    const options = {
      path: place.path,
      url: place.database.url,
      node,
      keys,
      from: run * numbersPerRun,
    }
    const child = new Child([process.execPath, script, JSON.stringify(options)])
    ledger.follow(child)
    return child
  }
  const seesMore = (ledger: Ledger, count: number) => {
    const before = ledger.seen.size
    return waitFor(() => ledger.seen.size >= before + count && true, {
      what: `${count} more facts seen`,
      ...patience,
    })
  }
  /** What was answered last may be unseen by those who were killed. */
  async function seeTheRest(place: OutboxDatabase, ledger: Ledger): Promise<void> {
    const consumer = new TestConsumer('test')
    await using last = new OutboxNode(place.openDatabase(), [consumer])
    await last.relay.start()
    await waitFor(
      () => {
        for (const event of consumer.events.splice(0)) ledger.seen.add(factOf(event))
        return ledger.missing.length === 0
      },
      { what: 'every answered fact is seen', ...patience },
    )
    expect(consumer.missedApps).toEqual([])
  }

  it('kills of the process: the consumer sees every fact, each key in its order', {
    timeout: timeoutMs,
  }, async () => {
    await using place = await OutboxDatabase.create(backend)
    const random = new Random(seed)
    const ledger = new Ledger()
    for (let run = 0; run < kills; run++) {
      const child = startNode(place, ledger, 'one', run)
      try {
        await seesMore(ledger, 20)
        await sleep(random.integer(0, 150))
      } finally {
        child.killTree()
        await child.exited
      }
    }
    await seeTheRest(place, ledger)
    expect(ledger.wrong).toEqual([])
    expect(ledger.disordered).toEqual([])
    expect(ledger.answered.size).toBeGreaterThan(kills * 10)
    console.log(`${backend.name}: ${ledger.answered.size} facts, ${ledger.repeated} seen again`)
  })

  // The embedded database has one process.
  if (backend.name === 'postgres')
    if (isFullRun)
      it('kill of a node: the consumer continues on another node', {
        timeout: timeoutMs,
      }, async () => {
        await using place = await OutboxDatabase.create(backend)
        const ledger = new Ledger()
        const nodes = [startNode(place, ledger, 'one', 0), startNode(place, ledger, 'two', 0)]
        const saw = (node: Child) => node.output().match(/^saw /gm)?.length ?? 0
        try {
          for (let kill = 1; kill <= nodeKills; kill++) {
            await seesMore(ledger, 40)
            const running = await waitFor(
              () => nodes.findIndex((node) => saw(node) > 0) + 1 || undefined,
              {
                what: 'a node runs the consumer',
                ...patience,
              },
            )
            const at = running - 1
            const killed = nodes[at] as Child
            killed.killTree()
            await killed.exited
            nodes[at] = startNode(place, ledger, at === 0 ? 'one' : 'two', kill)
          }
          await seesMore(ledger, 40)
        } finally {
          for (const node of nodes) node.killTree()
          await Promise.all(nodes.map(({ exited }) => exited))
        }
        await seeTheRest(place, ledger)
        expect(ledger.wrong).toEqual([])
        expect(ledger.disordered).toEqual([])
      })
})
