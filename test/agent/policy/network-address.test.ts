import { describe, expect, it } from 'vitest'
import { checkPublicAddress } from '../../../src/agent/policy/network-address.ts'

describe('an address', () => {
  it.each([
    'https://api.example.com/v1',
    'http://example.com:8080',
    'https://8.8.8.8/v1',
    'https://172.15.0.1',
    'https://172.32.0.1',
    'https://100.128.0.1',
    'https://[2606:4700::1111]/v1',
    'https://[::ffff:8.8.8.8]',
    'https://localhost.example.com',
    'https://mylocal.example',
    'https://xn--bcher-kva.example',
  ])('%s may be called', (address) => {
    expect(checkPublicAddress(address)).toBe(undefined)
  })

  it.each([
    'https://localhost',
    'https://LOCALHOST:8787',
    'https://localhost.',
    'https://a.localhost/v1',
    'https://printer.local',
    'https://metadata.google.internal',
    'https://router',
    'https://10.0.0.1.nip.io',
    'https://localtest.me',
    'https://127.0.0.1',
    'https://127.1',
    'https://2130706433',
    'https://0x7f000001',
    'https://0x7f.1',
    'https://0177.0.0.1',
    'https://017700000001',
    'https://127.0.0.1.',
    'https://１２７.0.0.1',
    'https://①②⑦.0.0.1',
    'https://0.0.0.0',
    'https://0',
    'https://10.255.255.255',
    'https://172.16.0.1',
    'https://172.31.255.255',
    'https://192.168.1.1',
    'https://169.254.169.254/latest/meta-data',
    'https://0xa9fea9fe',
    'https://100.64.0.1',
    'https://198.19.0.1',
    'https://224.0.0.1',
    'https://255.255.255.255',
    'https://[::]',
    'https://[::1]:8787',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:7f00:1]',
    'https://[::ffff:a9fe:a9fe]',
    'https://[::127.0.0.1]',
    'https://[64:ff9b::10.0.0.1]',
    'https://[64:ff9b:1::1]',
    'https://[2002:7f00:1::]',
    'https://[2002:c0a8:101::1]',
    'https://[2001::1]',
    'https://[2001:db8::1]',
    'https://[fc00::1]',
    'https://[fd12:3456::1]',
    'https://[fe80::1]',
    'https://[febf::1]',
    'https://[fec0::1]',
    'https://[ff02::1]',
    'https://user:secret@api.example.com',
    'https://api.example.com@127.0.0.1',
    'http://{169.254.169.254}/',
    'http://{127.0.0.1}:9000/v1',
    'https://{HOST}.example.com',
    'https://`id`.example.com',
    'ftp://example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/plain,hi',
    'no address',
    '',
    '//example.com',
  ])('%s is refused', (address) => {
    expect(checkPublicAddress(address)).toMatch(/\w/)
  })

  it('is refused with the reason', () => {
    expect(checkPublicAddress('https://0x7f.1')).toBe('loopback')
    expect(checkPublicAddress('https://[fd00::1]')).toBe('a private network')
  })
})
