;; The inner loops of a resampler, four samples at a time. `npm run wasm` compiles this file into simd-filter.ts, which
;; lays out the memory. Addresses and lengths are in bytes; signals and coefficients are 32-bit floats. Each output is
;; one sum in one fixed order, however many are computed at once.
(module
  (memory (export "memory") 1 64)

  ;; For short periods: outputs of one phase, twenty at a time. A tap is an offset in the signal and a coefficient; taps
  ;; that are zero are not there. From `p` on, the next output's inputs lie one float further, in each lane.
  (func (export "lanes") (param $p i32) (param $taps i32) (param $tapsEnd i32) (param $out i32) (param $outEnd i32)
    (local $tap i32) (local $x i32) (local $h v128)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128) (local $e v128)
    (loop $outputs
      (local.set $a (local.tee $b (local.tee $c (local.tee $d (local.tee $e (v128.const i32x4 0 0 0 0))))))
      (local.set $tap (local.get $taps))
      (loop $sum
        (local.set $x (i32.add (local.get $p) (i32.load (local.get $tap))))
        (local.set $h (v128.load32_splat offset=4 (local.get $tap)))
        (local.set $a (f32x4.add (local.get $a) (f32x4.mul (local.get $h) (v128.load (local.get $x)))))
        (local.set $b (f32x4.add (local.get $b) (f32x4.mul (local.get $h) (v128.load offset=16 (local.get $x)))))
        (local.set $c (f32x4.add (local.get $c) (f32x4.mul (local.get $h) (v128.load offset=32 (local.get $x)))))
        (local.set $d (f32x4.add (local.get $d) (f32x4.mul (local.get $h) (v128.load offset=48 (local.get $x)))))
        (local.set $e (f32x4.add (local.get $e) (f32x4.mul (local.get $h) (v128.load offset=64 (local.get $x)))))
        (local.set $tap (i32.add (local.get $tap) (i32.const 8)))
        (br_if $sum (i32.lt_u (local.get $tap) (local.get $tapsEnd))))
      (v128.store (local.get $out) (local.get $a))
      (v128.store offset=16 (local.get $out) (local.get $b))
      (v128.store offset=32 (local.get $out) (local.get $c))
      (v128.store offset=48 (local.get $out) (local.get $d))
      (v128.store offset=64 (local.get $out) (local.get $e))
      (local.set $p (i32.add (local.get $p) (i32.const 80)))
      (local.set $out (i32.add (local.get $out) (i32.const 80)))
      (br_if $outputs (i32.lt_u (local.get $out) (local.get $outEnd)))))

  ;; For long periods: one output after the other, each with its own row of coefficients, whose length is a multiple of
  ;; sixteen floats. An output lies `fraction / phases` behind its first input, `p`, and `fraction` is also the number of
  ;; its row; the next output lies `whole` bytes of inputs and `part / phases` of an input further.
  (func (export "rows") (param $p i32) (param $fraction i32) (param $whole i32) (param $part i32) (param $phases i32)
    (param $rows i32) (param $rowLength i32) (param $out i32) (param $outEnd i32)
    (local $row i32) (local $end i32) (local $x i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (loop $outputs
      (local.set $a (local.tee $b (local.tee $c (local.tee $d (v128.const i32x4 0 0 0 0)))))
      (local.set $x (local.get $p))
      (local.set $row (i32.add (local.get $rows) (i32.mul (local.get $fraction) (local.get $rowLength))))
      (local.set $end (i32.add (local.get $row) (local.get $rowLength)))
      (loop $sum
        (local.set $a (f32x4.add (local.get $a)
          (f32x4.mul (v128.load (local.get $row)) (v128.load (local.get $x)))))
        (local.set $b (f32x4.add (local.get $b)
          (f32x4.mul (v128.load offset=16 (local.get $row)) (v128.load offset=16 (local.get $x)))))
        (local.set $c (f32x4.add (local.get $c)
          (f32x4.mul (v128.load offset=32 (local.get $row)) (v128.load offset=32 (local.get $x)))))
        (local.set $d (f32x4.add (local.get $d)
          (f32x4.mul (v128.load offset=48 (local.get $row)) (v128.load offset=48 (local.get $x)))))
        (local.set $x (i32.add (local.get $x) (i32.const 64)))
        (local.set $row (i32.add (local.get $row) (i32.const 64)))
        (br_if $sum (i32.lt_u (local.get $row) (local.get $end))))
      (local.set $a
        (f32x4.add
          (f32x4.add (local.get $a) (local.get $b))
          (f32x4.add (local.get $c) (local.get $d))))
      (f32.store (local.get $out)
        (f32.add
          (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
          (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))
      (local.set $p (i32.add (local.get $p) (local.get $whole)))
      (local.set $fraction (i32.add (local.get $fraction) (local.get $part)))
      (if (i32.ge_u (local.get $fraction) (local.get $phases))
        (then
          (local.set $fraction (i32.sub (local.get $fraction) (local.get $phases)))
          (local.set $p (i32.add (local.get $p) (i32.const 4)))))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br_if $outputs (i32.lt_u (local.get $out) (local.get $outEnd))))))
