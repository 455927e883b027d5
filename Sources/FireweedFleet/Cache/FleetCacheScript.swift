// The cache's scripts, which run inside the server.

/// The cache's scripts; each runs without other commands in between, and uses the server's clock.
///
/// The responses of a key are in a hash: for each variant a field `h…` with the head, `c…` with the content, and `m…`
/// with the content's tag, the milliseconds since 1970 of the response's `Date`, of its arrival and of its expiry.
///
/// The revision of a key is stored under a separate key: a number and a letter. A look-up creates a missing revision
/// (`l`), and a removal replaces the revision (`r`). A response is stored only if the number has not changed since its
/// look-up: the removal of one key, the removal of all keys, and the loss of all data each reject responses that are
/// being fetched.
enum FleetCacheScript {
    /// The value of a claim after a response that could not be shared.
    static let unshared = "unshared"

    private static let common = """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local function revision(mark)
          return string.match(mark or '', '^%d+') or '0'
        end
        local function nextMark(mark, letter)
          local number = math.max(time[1] * 1000000 + time[2], tonumber(revision(mark)) + 1)
          return string.format('%.0f', number) .. letter
        end
        local function meta(key, variant)
          local text = redis.call('HGET', key, 'm' .. variant)
          if not text then return nil end
          local tag, origin, came, expiry = string.match(text, '^(%x+) (%-?%d+) (%-?%d+) (%d+)$')
          if not tag then return nil end
          return {tag = tag, origin = tonumber(origin), came = tonumber(came), expiry = tonumber(expiry)}
        end
        -- More fields than we store are another program's, and would take long to read.
        local function bound(key)
          if redis.call('HLEN', key) > 1000 then redis.pcall('UNLINK', key) end
        end
        local function forget(key, variant)
          redis.call('HDEL', key, 'm' .. variant, 'h' .. variant, 'c' .. variant)
        end
        local function keep(key, lifetime)
          if redis.call('PTTL', key) < lifetime then redis.call('PEXPIRE', key, lifetime) end
        end
        local function encoded(tag, origin, came, lifetime)
          return tag .. ' ' .. origin .. ' ' .. came .. ' ' .. string.format('%.0f', now + lifetime)
        end

        """

    /// Looks up the responses of a key, and claims the fetch if there are none.
    ///
    /// Keys: shared, own, claim, revision. Arguments: the claimant or nothing, milliseconds of the claim, maximum bytes
    /// of content, milliseconds of a revision. Returns the revision (0 on a server that cannot be written), the claim's
    /// state, and for each variant: 1 or 2 for shared or own, its name, head and content.
    static let look = RESPScript(
        common + """
            local found, sum = {}, 0
            for number = 1, 2 do
              local key = KEYS[number]
              if number == 1 or key ~= KEYS[1] then
                bound(key)
                for _, field in ipairs(redis.call('HKEYS', key)) do
                  local variant = string.sub(field, 2)
                  local entry = string.sub(field, 1, 1) == 'm' and meta(key, variant)
                  if entry and entry.expiry > now then
                    local content = false
                    local count = redis.call('HSTRLEN', key, 'c' .. variant)
                    if sum + count <= tonumber(ARGV[3]) then
                      sum = sum + count
                      content = redis.call('HGET', key, 'c' .. variant)
                    end
                    found[#found + 1] = {number, variant, redis.call('HGET', key, 'h' .. variant), content}
                  end
                end
              end
            end
            local state = 0
            if ARGV[1] ~= '' and #found == 0 then
              if redis.call('SET', KEYS[3], ARGV[1], 'NX', 'PX', ARGV[2]) then
                state = 1
              else
                -- A claim without an end was not made here.
                if redis.call('PTTL', KEYS[3]) == -1 then redis.call('PEXPIRE', KEYS[3], ARGV[2]) end
                if redis.call('GET', KEYS[3]) ~= '\(unshared)' then state = 2 end
              end
            end
            local mark = redis.call('GET', KEYS[4])
            if not mark then
              mark = nextMark(nil, 'l')
              if redis.pcall('SET', KEYS[4], mark, 'PX', ARGV[4]).err then mark = nil end
            elseif redis.call('PTTL', KEYS[4]) < tonumber(ARGV[4]) / 2 then
              redis.pcall('PEXPIRE', KEYS[4], ARGV[4])
            end
            return {revision(mark), state, found}
            """)

    /// Stores a response, and ends the claim of any process on the key: the response need not be fetched again.
    ///
    /// Keys: the place, the other place, revision, claim. Arguments: variant, head, content, tag, date, arrival,
    /// lifetime, revision or 0 without a look-up, maximum variants. Returns 1 if the response was stored; 0 after a
    /// removal, for a response older than the stored one, and without a lifetime.
    static let store = RESPScript(
        common + """
            local variant, lifetime = ARGV[1], tonumber(ARGV[7])
            local mark = redis.call('GET', KEYS[3])
            if ARGV[8] == '0' then
              if mark and string.sub(mark, -1) ~= 'l' then return 0 end
            elseif revision(mark) ~= ARGV[8] then
              return 0
            end
            for number = 1, 2 do
              bound(KEYS[number])
              local entry = meta(KEYS[number], variant)
              if entry and entry.expiry > now and (entry.origin > tonumber(ARGV[5])
                or entry.origin == tonumber(ARGV[5]) and entry.came > tonumber(ARGV[6])) then return 0 end
            end
            if KEYS[2] ~= KEYS[1] then forget(KEYS[2], variant) end
            if lifetime <= 0 then
              forget(KEYS[1], variant)
              return 0
            end
            redis.call('HSET', KEYS[1], 'm' .. variant, encoded(ARGV[4], ARGV[5], ARGV[6], lifetime),
              'h' .. variant, ARGV[2], 'c' .. variant, ARGV[3])
            keep(KEYS[1], lifetime)
            if redis.call('HLEN', KEYS[1]) > 3 * tonumber(ARGV[9]) then
              local first, expiry
              for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
                local name = string.sub(field, 2)
                local entry = string.sub(field, 1, 1) == 'm' and name ~= variant and meta(KEYS[1], name)
                if entry and (not expiry or entry.expiry < expiry) then first, expiry = name, entry.expiry end
              end
              if first then forget(KEYS[1], first) end
            end
            redis.call('DEL', KEYS[4])
            return 1
            """)

    /// Replaces the head of a response whose content is still stored, unless the stored head is newer.
    ///
    /// Keys: shared, own. Arguments: variant, head if shared, tag, date, arrival, lifetime if shared, lifetime if own,
    /// head if own.
    ///
    /// The first bytes of the stored head stay: they contain the content's length.
    static let update = RESPScript(
        common + """
            local variant = ARGV[1]
            for number = 1, 2 do
              local key = KEYS[number]
              local entry = (number == 1 or key ~= KEYS[1]) and meta(key, variant)
              if entry and entry.tag == ARGV[3] and entry.came <= tonumber(ARGV[5]) then
                local lifetime = tonumber(ARGV[5 + number])
                local head = redis.call('HGET', key, 'h' .. variant)
                if lifetime <= 0 or not head then
                  forget(key, variant)
                else
                  redis.call('HSET', key, 'm' .. variant, encoded(ARGV[3], ARGV[4], ARGV[5], lifetime),
                    'h' .. variant, string.sub(head, 1, 9) .. string.sub(ARGV[number == 1 and 2 or 8], 10))
                  keep(key, lifetime)
                end
              end
            end
            return 1
            """)

    /// Removes the responses of a key, and makes its next revision.
    ///
    /// Keys: shared, own, revision. Argument: for how many milliseconds the removal is remembered.
    static let remove = RESPScript(
        common + """
            redis.call('DEL', KEYS[1], KEYS[2])
            redis.call('SET', KEYS[3], nextMark(redis.call('GET', KEYS[3]), 'r'), 'PX', ARGV[1])
            return 1
            """)

    /// Makes the next revision of a key, as a removal does.
    ///
    /// Key: the revision. Argument: for how many milliseconds the removal is remembered.
    static let noteRevision = RESPScript(
        common + """
            redis.call('SET', KEYS[1], nextMark(redis.call('GET', KEYS[1]), 'r'), 'PX', ARGV[1])
            return 1
            """)

    /// Returns the server's run, as `RESPScript.currentRun` does.
    static let serverRun = RESPScript(RESPScript.currentRun + "return currentRun()")

    /// Stores the server's time as the time when everything was removed.
    ///
    /// Key: the time. Argument: for how many milliseconds it is remembered.
    static let noteRemoval = RESPScript(
        """
        local time = redis.call('TIME')
        redis.call('SET', KEYS[1], string.format('%.0f', time[1] * 1000000 + time[2]), 'PX', ARGV[1])
        return 1
        """)

    /// Returns how many microseconds ago everything was removed; -1 if unknown.
    ///
    /// Key: the time of that removal.
    static let timeSinceRemoval = RESPScript(
        """
        local removal = tonumber(redis.call('GET', KEYS[1]) or '')
        local time = redis.call('TIME')
        return removal and math.max(0, time[1] * 1000000 + time[2] - removal) or -1
        """)

    /// Ends a claim, unless another claimant holds the claim now.
    ///
    /// Key: claim. Arguments: the claimant, 1 if the response could be shared, and how many milliseconds to remember
    /// that it could not be shared.
    static let endFetch = RESPScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        if ARGV[2] == '1' then
          redis.call('DEL', KEYS[1])
        else
          redis.call('SET', KEYS[1], '\(unshared)', 'PX', ARGV[3])
        end
        return 1
        """)
}
