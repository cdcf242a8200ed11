import { describe, expect, it } from 'vitest'
import { configOf } from './message-config.js'

const listOf = (config: string) => [...configOf(config).groupMemberList]

describe('configOf', () => {
  it('finds the members from whom receipts are wanted, among other keys', () => {
    expect(
      listOf(
        '{"mentionAll":true,"groupMemberList":[5,1535322624000001,5],"x":{"groupMemberList":[6]}}',
      ),
    ).toEqual([5, 1535322624000001])
  })

  it('takes IDs as digits too, and those beyond 2^53 for what they are', () => {
    expect(listOf('{"groupMemberList":["5","1535322624000001"]}')).toEqual([5, 1535322624000001])
    expect(listOf('{"groupMemberList":[9007199254740993,7]}')).toEqual([9007199254740993n, 7])
  })

  it('passes over what is no ID', () => {
    expect(listOf('{"groupMemberList":[1.5,"x","",null,true,{},[2],"-3",4]}')).toEqual([4])
  })

  it.each([
    '',
    'text',
    'null',
    '5',
    '[]',
    '{}',
    '{"groupMemberList":5}',
    '{"groupMemberList":"5"}',
    '{"groupMemberList":null}',
    '{"groupMemberList":{"0":5}}',
    '["groupMemberList",5]',
    '"groupMemberList"',
    '{"groupMemberList":[5]',
    '{"x":{"groupMemberList":[5]}}',
    `{"groupMemberList":${'['.repeat(30_000)}`,
  ])('asks for nothing without a list of that name: %.40s', (config) => {
    expect(listOf(config)).toEqual([])
  })
})
