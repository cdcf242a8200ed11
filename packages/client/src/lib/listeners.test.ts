import { expect, it } from 'vitest'
import { Listeners } from './listeners.js'
import { reporterOf } from './reporter.js'

it('listeners are called in order, and one that throws stops no other', () => {
  const errors: unknown[] = []
  const heard: string[] = []
  const listeners = new Listeners<string>((error) => errors.push(error))
  const fault = new Error('a listener')
  listeners.add((value) => heard.push(`first ${value}`))
  listeners.add(() => {
    throw fault
  })
  listeners.add((value) => heard.push(`last ${value}`))
  listeners.notify('news')
  expect([heard, errors]).toEqual([['first news', 'last news'], [fault]])
})

it('a function that is added twice is called twice, and each end removes one', () => {
  let calls = 0
  const count = () => calls++
  const listeners = new Listeners<void>(() => undefined)
  const end = listeners.add(count)
  listeners.add(count)
  expect([end(), end()]).toEqual([true, false])
  listeners.notify()
  expect([calls, listeners.size]).toEqual([1, 1])
})

it('listeners that a call adds or removes are not called with it', () => {
  const heard: string[] = []
  const listeners = new Listeners<void>(() => undefined)
  listeners.add(() => {
    heard.push('first')
    end()
    listeners.add(() => heard.push('added'))
  })
  const end = listeners.add(() => heard.push('removed'))
  listeners.notify()
  expect(heard).toEqual(['first'])
})

it('a report that throws is ignored', () => {
  const report = reporterOf({
    onError() {
      throw new Error('a fault of the app')
    },
  })
  expect(() => report(new Error('a fault'))).not.toThrow()
})
