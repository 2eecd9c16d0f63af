module @f1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>,
      %arg1: tensor<4x2xf32>) -> (tensor<3x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT,
        DEFAULT] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %2 = stablehlo.compare GT, %0, %1, FLOAT : (tensor<3x2xf32>,
        tensor<3x2xf32>) -> tensor<3x2xi1>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %5 = stablehlo.select %2, %3, %4 : tensor<3x2xi1>, tensor<3x2xf32>
    %6 = stablehlo.dot_general %5, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT,
        DEFAULT] : (tensor<3x2xf32>, tensor<4x2xf32>) -> tensor<3x4xf32>
    return %6 : tensor<3x4xf32>
  }
}
