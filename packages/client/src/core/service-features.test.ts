import { expect, it } from 'vitest'
import { CoreBench } from '../../test/support/core-bench.js'
import { ServiceFeatures } from './service-features.js'

it('features: what the service announced last is kept, also by a reset', () => {
  const bench = new CoreBench({ parts: (context) => [new ServiceFeatures(context)] })
  const stored = () => bench.stored.cached.get('features')?.value
  bench.features = ['replies', 'reactions']
  bench.open()
  expect(stored()).toEqual(['replies', 'reactions'])
  bench.epoch = 'other'
  bench.restart()
  bench.open()
  expect(stored()).toEqual(['replies', 'reactions'])
  bench.features = undefined
  bench.restart()
  bench.open()
  expect(stored()).toEqual([])
})
