import { describe, expect, it } from 'vitest'
import { CombinedReads, type ReadQuery, type ReadRows } from './reads.js'

const sql = 'select a, b from t where k = $1 and n <= $2'

/** Runs queries by hand: each waits until it is answered. */
class Server {
  readonly asked: (ReadQuery & { answer(rows: ReadRows): void; fail(error: Error): void })[] = []
  readonly reads = new CombinedReads(
    (query) =>
      new Promise((resolve, reject) =>
        this.asked.push({ ...query, answer: resolve, fail: reject }),
      ),
  )
}

/** As many turns of the event loop as a call needs to be asked. */
async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('CombinedReads', () => {
  it('asks a single call as it is', async () => {
    const { reads, asked } = new Server()
    const rows = reads.all(sql, ['x', 1])
    await turn()
    expect(asked.map(({ sql, parameters }) => ({ sql, parameters }))).toEqual([
      { sql, parameters: ['x', 1] },
    ])
    asked[0]?.answer({ columns: ['a', 'b'], rows: [[1, 2]] })
    expect(await rows).toEqual([{ a: 1, b: 2 }])
  })

  it('asks calls of one turn together and gives each its rows', async () => {
    const { reads, asked } = new Server()
    const calls = [
      reads.all(sql, ['x', 1]),
      reads.all(sql, ['y', 2n ** 60n]),
      reads.all(sql, ['z', -3]),
    ]
    await turn()
    expect(asked).toHaveLength(1)
    expect(asked[0]?.sql).toContain(
      '(select a, b from t where k = call.p1 and n <= call.p2 offset 0)',
    )
    expect(asked[0]?.sql).toContain(
      '(select unnest($1::text[]) as p1, unnest($2::bigint[]) as p2, generate_subscripts($1::text[], 1) as n) as call',
    )
    expect(asked[0]?.parameters).toEqual(['{"x","y","z"}', `{1,${2n ** 60n},-3}`])
    const rows = [
      [1, 'x1', 'x2'],
      [3, 'z1', 'z2'],
      [3, 'z3', 'z4'],
    ]
    asked[0]?.answer({ columns: ['n', 'a', 'b'], rows })
    expect(await Promise.all(calls)).toEqual([
      [{ a: 'x1', b: 'x2' }],
      [],
      [
        { a: 'z1', b: 'z2' },
        { a: 'z3', b: 'z4' },
      ],
    ])
  })

  it('keeps different statements apart', async () => {
    const { reads, asked } = new Server()
    void reads.all(sql, ['x', 1])
    void reads.all('select 1 where 1 = $1', [1])
    await turn()
    expect(asked.map((query) => query.parameters)).toEqual([['x', 1], [1]])
  })

  it('asks at once and alone what has other types of parameters, or null', async () => {
    const { reads, asked } = new Server()
    void reads.all(sql, ['x', 1])
    void reads.all(sql, ['y', null])
    void reads.all(sql, [5, 1])
    await turn()
    expect(asked.map((query) => query.parameters).sort()).toEqual(
      [
        ['x', 1],
        ['y', null],
        [5, 1],
      ].sort(),
    )
  })

  it('fails only the call with the error', async () => {
    const { reads, asked } = new Server()
    const calls = [reads.all(sql, ['good', 1]), reads.all(sql, ['bad', 2])]
    await turn()
    asked[0]?.fail(Object.assign(new Error('one of them'), { code: '22003' }))
    await turn()
    expect(asked.slice(1).map((query) => query.parameters)).toEqual([['good', 1]])
    asked[1]?.answer({ columns: ['a', 'b'], rows: [] })
    expect(await calls[0]).toEqual([])
    await turn()
    expect(asked.slice(2).map((query) => query.parameters)).toEqual([['bad', 2]])
    asked[2]?.fail(new Error('bad'))
    await expect(calls[1]).rejects.toThrow('bad')
  })

  it.each(['57014', '53300', '08006', 'ECONNRESET', undefined])(
    'asks nobody again after a failure by the database: %s',
    async (code) => {
      const { reads, asked } = new Server()
      const calls = Promise.allSettled([reads.all(sql, ['x', 1]), reads.all(sql, ['y', 2])])
      await turn()
      const failure = Object.assign(new Error('down'), { code })
      asked[0]?.fail(failure)
      expect(await calls).toEqual([
        { status: 'rejected', reason: failure },
        { status: 'rejected', reason: failure },
      ])
      expect(asked).toHaveLength(1)
    },
  )

  it('lets calls wait while two statements are under way, and none for ever', async () => {
    const { reads, asked } = new Server()
    const calls = Array.from({ length: 200 }, (_, index) => reads.all(sql, [`k${index}`, index]))
    await turn()
    expect(asked).toHaveLength(2)
    for (let done = 0; done < asked.length; done++) {
      const { parameters, answer } = asked[done] as Server['asked'][number]
      const text = parameters[0] as string
      const keys = text.match(/k\d+/g) as string[]
      if (text.startsWith('{'))
        answer({ columns: ['n', 'a'], rows: keys.map((key, index) => [index + 1, key]) })
      else answer({ columns: ['a'], rows: [keys] })
      await turn()
    }
    const rows = await Promise.all(calls)
    expect(rows).toEqual(Array.from({ length: 200 }, (_, index) => [{ a: `k${index}` }]))
    expect(asked.length).toBeLessThan(10)
  })
})
