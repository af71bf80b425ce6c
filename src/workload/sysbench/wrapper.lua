-- Noctune's wrapper around a sysbench script: times every event into a log-linear histogram of its thread in shared
-- memory, and ends the run when the flag there says so. NOCTUNE_SCRIPT is the script, NOCTUNE_SHARED the memory.
-- Every cell is a double (exact up to 2^53), written by one thread only; the layout is that of shared.rs.

local ffi = require("ffi")

ffi.cdef [[
typedef struct { long sec; long nsec; } noctune_time;
int noctune_clock(int clock, noctune_time *time) __asm__("clock_gettime");
int noctune_open(const char *path, int flags, ...) __asm__("open");
int noctune_close(int fd) __asm__("close");
void *noctune_map(void *at, size_t length, int protection, int flags, int fd, long offset) __asm__("mmap");
]]

local HEADER, STRIDE, COUNTERS, BUCKETS = 512, 2056, 8, 2048
local STOP, OWN_LOOP = 3, 4

local script = assert(os.getenv("NOCTUNE_SCRIPT"), "NOCTUNE_SCRIPT is not set")
local folder = script:match("^(.*)/[^/]*$")
if folder then
   package.path = folder .. "/?.lua;" .. package.path
end

local builtin_loop = thread_run
dofile(script)
local script_event, script_init = event, thread_init
local own_loop = thread_run ~= builtin_loop

local memory, cells

local function map()
   local fd = ffi.C.noctune_open(os.getenv("NOCTUNE_SHARED"), 2)
   assert(fd >= 0, "cannot open Noctune's shared memory")
   local length = (HEADER + STRIDE * sysbench.opt.threads) * 8
   local at = ffi.C.noctune_map(nil, length, 3, 1, fd, 0)
   ffi.C.noctune_close(fd)
   assert(ffi.cast("intptr_t", at) ~= -1, "cannot map Noctune's shared memory")
   memory = ffi.cast("double *", at)
   cells = memory + HEADER + STRIDE * (sysbench.tid % sysbench.opt.threads)
   if own_loop then
      memory[OWN_LOOP] = 1
   end
end

function thread_init(...)
   if script_init then
      script_init(...)
   end
   map()
   cells[0] = 1
end

local time = ffi.new("noctune_time")
-- Called by way of the namespace: only such a call is compiled into the caller.
local C, floor, log = ffi.C, math.floor, math.log
local INVERSE_LN2 = 1 / math.log(2)
local MONOTONIC = 1

-- Powers of two, to correct a logarithm that was rounded over an edge.
local power = {}
for e = 0, 54 do
   power[e] = 2 ^ e
end

local function bucket(us)
   if us < 64 then
      return floor(us)
   end
   local e = floor(log(us) * INVERSE_LN2)
   if power[e] > us then
      e = e - 1
   elseif power[e + 1] <= us then
      e = e + 1
   end
   local index = (e - 6) * 64 + floor(us / power[e - 6])
   if index > BUCKETS - 1 then
      return BUCKETS - 1
   end
   return index
end

-- An event that is tried again after an error keeps its first start: the client waited all that time.
local started, again = 0, false

-- One named argument: a call with `...` is not compiled, which made an event 1 µs dearer.
function event(id)
   if memory[STOP] ~= 0 then
      return true
   end
   if again then
      again = false
   else
      C.noctune_clock(MONOTONIC, time)
      started = tonumber(time.sec) * 1e6 + tonumber(time.nsec) * 1e-3
   end
   local ends = script_event(id)
   C.noctune_clock(MONOTONIC, time)
   local us = tonumber(time.sec) * 1e6 + tonumber(time.nsec) * 1e-3 - started
   local i = COUNTERS + bucket(us)
   cells[i] = cells[i] + 1
   cells[1] = cells[1] + 1
   return ends
end

local LOST = { [2006] = true, [2011] = true, [2013] = true, [2055] = true }
local script_restart = sysbench.hooks.before_restart_event

function sysbench.hooks.before_restart_event(failure)
   again = true
   if cells then
      local i = LOST[failure.sql_errno] and 3 or 2
      cells[i] = cells[i] + 1
   end
   if script_restart then
      script_restart(failure)
   end
end
