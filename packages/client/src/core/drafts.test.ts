import { expect, it } from 'vitest'
import { CoreBench } from '../../test/support/core-bench.js'
import { CachedReads } from './cached-reads/cached-reads.js'
import { Drafts } from './drafts.js'

const aBench = () =>
  new CoreBench({ parts: (context) => [new CachedReads(context), new Drafts(context)] })

it('drafts: a text is stored before its command succeeds, and outlives restarts and resets', () => {
  const bench = aBench()
  bench.isCommitting = false
  const id = bench.command({ type: 'draft', conversationId: 9, text: 'Hello' })
  expect(bench.results.has(id)).toBe(false)
  bench.commit()
  expect(bench.results.has(id)).toBe(true)
  bench.isCommitting = true
  bench.restart()
  bench.open()
  bench.epoch = 'other'
  bench.restart()
  bench.open()
  expect(bench.stored.cached.get('draft.9')?.value).toBe('Hello')
  bench.command({ type: 'draft', conversationId: 9, text: '' })
  expect(bench.stored.cached.get('draft.9')?.value).toBe('')
})
