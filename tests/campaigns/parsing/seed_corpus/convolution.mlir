module @f4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2x8x8xf32>,
      %arg1: tensor<3x2x3x3xf32>) -> (tensor<1x3x8x8xf32> {jax.result_info = "result[0]"},
      tensor<1x2x4x4xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0,
        1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1],
        rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>,
        #stablehlo<precision DEFAULT>]} : (tensor<1x2x8x8xf32>,
        tensor<3x2x3x3xf32>) -> tensor<1x3x8x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{base_dilations = array<i64: 1, 1, 1, 1>,
        padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>,
        window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
    return %0, %2 : tensor<1x3x8x8xf32>, tensor<1x2x4x4xf32>
  }
}
