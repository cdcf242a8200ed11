import { describe, expect, it } from 'vitest'
import { bigint, camelCase, camelCaseText, columnsOf, convert, snakeCase, text } from './columns.js'

const table = { app_id: text, seq: bigint, last_msg_id: bigint }

describe('camelCase', () => {
  it('selects columns by their names in code', () => {
    expect(camelCase(table)).toEqual(['app_id as appId', 'seq', 'last_msg_id as lastMsgId'])
    expect(camelCase(['nick_name', 'avatar'], 'u')).toEqual(['u.nick_name as nickName', 'u.avatar'])
  })

  it('quotes the names in the text of bulk statements, where PostgreSQL would write them in lower case', () => {
    expect(camelCaseText(['app_id', 'seq'], 't')).toBe('t.app_id as "appId", t.seq')
  })
})

it('snakeCase names values as their columns, and leaves out those that are no column', () => {
  const row = snakeCase(table, { lastMsgId: 7, appId: 'a', callerId: 3 })
  expect(row).toEqual({ app_id: 'a', last_msg_id: 7 })
})

it('columnsOf gives the kinds of some columns', () => {
  expect(columnsOf(table, 'last_msg_id', 'app_id')).toEqual({
    last_msg_id: 'bigint',
    app_id: 'text',
  })
})

it('convert replaces values of a row', () => {
  const row = { seq: 1, isRead: 1 }
  expect(convert(row, { isRead: row.isRead === 1 })).toEqual({ seq: 1, isRead: true })
})
