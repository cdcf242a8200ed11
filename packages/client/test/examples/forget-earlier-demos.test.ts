import { IDBFactory } from 'fake-indexeddb'
import { expect, it, vi } from 'vitest'
import { forgetEarlierDemos } from '../../../../examples/chat/src/page/forget-earlier-demos.js'
import { databaseName } from '../../src/stores/indexed-db-store.js'

it('the demo deletes what earlier demos have stored, and nothing of other apps on its address', async () => {
  const origin = 'http://127.0.0.1:8090'
  const indexedDB = new IDBFactory()
  vi.stubGlobal('indexedDB', indexedDB)
  vi.stubGlobal('location', { origin })
  const name = (appId: string, userId: number, url = origin) => databaseName({ url, appId, userId })
  const kept = [
    name('demo', 12),
    name('mine', 1),
    name('demo', 1, 'https://chat.example'),
    'of another page',
  ]
  for (const each of [...kept, name('demo', 1), name('demo', 123)])
    await new Promise((resolve) => {
      indexedDB.open(each).onsuccess = ({ target }) => {
        ;(target as IDBOpenDBRequest).result.close()
        resolve(undefined)
      }
    })
  await forgetEarlierDemos({ appId: 'demo', users: [{ userId: 12, name: 'Ada', token: 't' }] })
  await vi.waitFor(async () =>
    expect((await indexedDB.databases()).map((each) => each.name).toSorted()).toEqual(
      kept.toSorted(),
    ),
  )
  vi.unstubAllGlobals()
})
