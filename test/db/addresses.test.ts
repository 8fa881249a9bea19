import { expect, test } from 'bun:test'
import { displayAddress, splitServers } from '../../src/text/database-address.ts'
import { databaseUrl } from '../../src/text/setting-values.ts'

test('an address with several servers becomes one address for each, without options that only libpq knows', () => {
  expect(splitServers('postgres://ada:p%40ss@a:1,b:2/base?target_session_attrs=read-write')).toEqual([
    'postgres://ada:p%40ss@a:1/base',
    'postgres://ada:p%40ss@b:2/base',
  ])
  expect(splitServers('postgresql://a,[::1]:5433/base?target_session_attrs=primary&sslmode=require')).toEqual([
    'postgresql://a/base?sslmode=require',
    'postgresql://[::1]:5433/base?sslmode=require',
  ])
  expect(splitServers('postgres://a/base?sslmode=require&target_session_attrs=read-write')).toEqual([
    'postgres://a/base?sslmode=require',
  ])
  expect(splitServers('postgres://a:5432/base')).toEqual(['postgres://a:5432/base'])
  expect(splitServers('postgres://a:x,b/base')).toEqual([])
  expect(splitServers('mysql://a/base')).toEqual([])
})

test('a database address is shown with servers and name, without its password', () => {
  expect(displayAddress('postgres://ada:secret@a:1,b:2/base?sslmode=require')).toBe('postgres://a:1,b:2/base')
  expect(displayAddress('postgres://a/base')).toBe('postgres://a/base')
})

test('DATABASE_URL refuses an address that would select a standby', () => {
  const several = 'postgres://a:1,b:2/base?target_session_attrs='
  for (const target of ['read-write', 'primary', '']) expect(databaseUrl(several + target)).toBe(several + target)
  for (const target of ['any', 'standby', 'prefer-standby', 'read-only'])
    expect(() => databaseUrl(several + target)).toThrow('target_session_attrs=read-write')
  expect(() => databaseUrl('postgres://a:1,b:2x/base')).toThrow('must look like')
})
